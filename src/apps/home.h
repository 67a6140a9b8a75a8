// SPDX-License-Identifier: Apache-2.0
// Home: the folder of one installation and what lies in it. Default $TANDEM_HOME, else ~/.tandem;
// mode 0700.
//
//   tandem.db            rows             lock        held by the server before anything is opened
//   secret  admin.key    mode 0600        server.sock the server's door for its own host
//   blobs/ tasks/ checkpoints/            files of models, tasks, checkpoints
//   gateway/             journal and last feed of the gateway
//   recovery.json                         a new admin key, to be let in by the next start (tandem
//   admin recover-key) run/ logs/           what runs now, and what it says; run/recovered.json:
//   which keys a recovery has revoked,
//                        until tandem up has told it
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace tandem::apps {

class Home {
  public:
    explicit Home(std::string root) : root_(std::move(root)) {}
    static Home find();  // from the environment

    const std::string& root() const { return root_; }
    std::string database() const { return root_ + "/tandem.db"; }
    std::string lock() const { return root_ + "/lock"; }
    std::string secret() const { return root_ + "/secret"; }
    std::string admin_key() const { return root_ + "/admin.key"; }
    std::string recovery() const { return root_ + "/recovery.json"; }
    std::string recovered() const { return root_ + "/run/recovered.json"; }
    std::string socket() const { return root_ + "/server.sock"; }
    std::string blobs() const { return root_ + "/blobs"; }
    std::string gateway() const { return root_ + "/gateway"; }
    std::string run_file(const std::string& name) const { return root_ + "/run/" + name + ".json"; }
    std::string log_file(const std::string& name) const { return root_ + "/logs/" + name + ".log"; }

    Status make() const;  // the folders
    bool exists() const;

  private:
    std::string root_;
};

// Held until the process ends. Error conflict when another server has it, and keeps it for a
// second.
Status lock_home(const Home& home);
// One `up` of a home at a time: the turn is over when the answer goes out of scope. Error: conflict,
// another is at work.
class UpTurn {
  public:
    explicit UpTurn(int descriptor) : descriptor_(descriptor) {}
    ~UpTurn();
    UpTurn(UpTurn&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    UpTurn& operator=(UpTurn&&) = delete;

  private:
    int descriptor_;
};
Result<UpTurn> take_turn_of_up(const Home& home);

Result<std::string> read_file(const std::string& path);
// Complete or not at all: temporary file, fsync, rename; mode 0600.
Status write_file(const std::string& path, std::string_view text);
// The installation's secret, drawn by the first start. A home with a store that has lost it, or has
// something else in its place, gets no other by itself: error conflict, with the ways out.
Result<Secret> load_secret(const Home& home);
Status check_secret(const Home& home);  // the same, and nothing is drawn
Status draw_secret(const Home& home);   // another one, whatever there was
// Of secret and admin.key those that others than their owner may read or write.
std::vector<std::string> open_secrets(const Home& home);

std::string environment_or(const char* name, const std::string& otherwise);

}  // namespace tandem::apps
