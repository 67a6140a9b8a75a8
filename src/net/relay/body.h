// SPDX-License-Identifier: Apache-2.0
// BodyDecoder takes the framing off a message body that arrives in pieces and hands out its bytes as views into
// the input, uncopied. Pure. One decoder per message.
//
// Strict on purpose: chunk extensions and trailers are refused (nobody here needs them; parsers disagree
// about them), sizes have at most 8 hex digits, every line ends with CR LF.
// Limits (reliability bar): decoded bytes, number of chunks, and an average chunk size once there are many,
// so that millions of one-byte chunks cost their sender more than us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <string_view>

#include "net/relay/head.h"

namespace tandem::relay {

struct BodyLimits {
    std::int64_t bytes_max = std::numeric_limits<std::int64_t>::max();
    std::int64_t chunks_max = std::numeric_limits<std::int64_t>::max();
    std::int64_t average_chunk_min = 0;  // bytes; looked at after 1,024 chunks
};

class BodyDecoder {
  public:
    BodyDecoder() = default;  // a message without body
    BodyDecoder(const HeadFields& head, BodyLimits limits);

    struct Step {
        std::size_t consumed = 0;   // bytes of input that are done with
        std::string_view piece;     // body bytes among them; may be empty
    };
    // Call again with the rest of the input until nothing is consumed or done().
    std::expected<Step, Malformed> feed(std::string_view input);
    // The peer closed: true when that is the proper end of this body.
    bool close();

    bool done() const { return state_ == State::done; }
    std::int64_t decoded() const { return decoded_; }

  private:
    enum class State : std::uint8_t { counted, until_close, size, size_lf, data, data_cr, data_lf,
                                      last_cr, last_lf, done };
    std::expected<Step, Malformed> take_bytes(std::string_view input, State after);
    std::expected<void, Malformed> take_frame_byte(char c);
    std::expected<void, Malformed> start_chunk();

    BodyLimits limits_;
    State state_ = State::done;
    std::int64_t left_ = 0;
    std::int64_t decoded_ = 0;
    std::int64_t chunks_ = 0;
    int size_digits_ = 0;
};

}  // namespace tandem::relay
