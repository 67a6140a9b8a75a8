// SPDX-License-Identifier: Apache-2.0
// tandem-recount HISTORY [--report FILE] [--from TIME] [--until TIME]: counts device-milliseconds
// from an exported history ("-": standard input) and prints them as JSON. With the JSON of `tandem
// usage report` for the same time it also compares, and ends with 1 when they differ. 2: the
// history or the call is wrong.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "recount/recount.h"

namespace tandem::recount {
namespace {

struct Call {
    std::string history{};
    std::string report{};
    Window window{};
};

Result<Call> parse_call(int argc, char** argv) {
    Call call;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word != "--report" && word != "--until" && word != "--from") {
            if (!call.history.empty())
                return fail(ErrorCode::invalid, "one history at a time, not also " + word);
            call.history = word;
            continue;
        }
        if (i + 1 == argc) return fail(ErrorCode::invalid, word + " needs a value");
        const std::string value = argv[++i];
        if (word == "--report") {
            call.report = value;
        } else {
            TANDEM_LET(at, parse_instant(value));
            (word == "--from" ? call.window.from : call.window.to) = at;
        }
    }
    if (call.history.empty()) {
        return fail(ErrorCode::invalid,
                    "usage: tandem-recount HISTORY [--report FILE] [--from TIME] [--until TIME]");
    }
    return call;
}

Result<Count> count_lines(std::istream& lines, const Window& window) {
    Recounter recounter(window);
    std::string line;
    for (std::int64_t number = 1; std::getline(lines, line); ++number) {
        if (line.empty()) continue;
        if (Status status = recounter.read(line); !status) {
            return in_context("line " + std::to_string(number), status.error());
        }
    }
    return recounter.finish();
}

Result<int> run(const Call& call) {
    std::ifstream file;
    if (call.history != "-") {
        file.open(call.history, std::ios::binary);
        if (!file) return fail(ErrorCode::not_found, call.history + " can't be read");
    }
    TANDEM_LET(count, count_lines(call.history == "-" ? std::cin : file, call.window));
    std::cout << render_count(count);
    if (call.report.empty()) return 0;
    std::ifstream report(call.report, std::ios::binary);
    if (!report) return fail(ErrorCode::not_found, call.report + " can't be read");
    const std::string text{std::istreambuf_iterator<char>(report), {}};
    TANDEM_LET(difference, find_difference(count, text));
    std::cout << (difference.empty() ? "agrees to the millisecond" : "differs: " + difference)
              << "\n";
    return difference.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tandem::recount

int main(int argc, char** argv) {
    using namespace tandem::recount;
    const auto call = parse_call(argc, argv);
    const tandem::Result<int> done = call ? run(*call) : tandem::pass_on(call.error());
    if (done) return *done;
    std::cerr << "tandem-recount: " << done.error().message << "\n";
    return 2;
}
