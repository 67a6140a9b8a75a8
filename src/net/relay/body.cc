// SPDX-License-Identifier: Apache-2.0
#include "net/relay/body.h"

#include <algorithm>

namespace tandem::relay {
namespace {

std::unexpected<Malformed> refuse(std::string_view what, int status = 400) {
    return std::unexpected(Malformed{status, what});
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

BodyDecoder::BodyDecoder(const HeadFields& head, BodyLimits limits) : limits_(limits) {
    switch (head.framing) {
        case Framing::none:
            break;
        case Framing::length:
            state_ = State::counted;
            left_ = head.content_length;
            break;
        case Framing::chunked:
            state_ = State::size;
            break;
        case Framing::until_close:
            state_ = State::until_close;
            break;
    }
}

std::expected<BodyDecoder::Step, Malformed> BodyDecoder::feed(std::string_view input) {
    if (state_ == State::done || input.empty()) return Step{};
    if (state_ == State::counted) return take_bytes(input, State::done);
    if (state_ == State::data) return take_bytes(input, State::data_cr);
    if (state_ == State::until_close) {
        left_ = static_cast<std::int64_t>(input.size()) + 1;
        return take_bytes(input, State::until_close);
    }
    std::size_t used = 0;
    while (used < input.size() && state_ != State::data && state_ != State::done) {
        auto taken = take_frame_byte(input[used++]);
        if (!taken) return std::unexpected(taken.error());
    }
    return Step{.consumed = used, .piece = {}};
}

bool BodyDecoder::close() {
    if (state_ == State::until_close) state_ = State::done;
    return state_ == State::done;
}

std::expected<BodyDecoder::Step, Malformed> BodyDecoder::take_bytes(std::string_view input,
                                                                    State after) {
    const auto take = std::min<std::int64_t>(left_, static_cast<std::int64_t>(input.size()));
    left_ -= take;
    decoded_ += take;
    if (decoded_ > limits_.bytes_max) return refuse("the body is too large", 413);
    if (left_ == 0) state_ = after;
    const auto size = static_cast<std::size_t>(take);
    return Step{.consumed = size, .piece = input.substr(0, size)};
}

std::expected<void, Malformed> BodyDecoder::take_frame_byte(char c) {
    switch (state_) {
        case State::size: {
            if (const int digit = hex_digit(c); digit >= 0) {
                if (++size_digits_ > 8) return refuse("chunk size too large");
                left_ = left_ * 16 + digit;
                return {};
            }
            if (c != '\r' || size_digits_ == 0)
                return refuse("a chunk begins with its size in hex digits, without extensions");
            state_ = State::size_lf;
            return {};
        }
        case State::size_lf:
            if (c != '\n') return refuse("a chunk size line must end with CR LF");
            return start_chunk();
        case State::data_cr:
            if (c != '\r') return refuse("a chunk must end with CR LF");
            state_ = State::data_lf;
            return {};
        case State::data_lf:
            if (c != '\n') return refuse("a chunk must end with CR LF");
            state_ = State::size;
            return {};
        case State::last_cr:
            if (c != '\r') return refuse("trailers are not accepted");
            state_ = State::last_lf;
            return {};
        case State::last_lf:
            if (c != '\n') return refuse("a chunked body must end with CR LF");
            state_ = State::done;
            return {};
        default:
            return refuse("internal: not in a frame");
    }
}

std::expected<void, Malformed> BodyDecoder::start_chunk() {
    size_digits_ = 0;
    if (left_ == 0) {
        state_ = State::last_cr;
        return {};
    }
    ++chunks_;
    if (chunks_ > limits_.chunks_max) return refuse("too many chunks", 413);
    if (chunks_ > 1024 && decoded_ / chunks_ < limits_.average_chunk_min)
        return refuse("the chunks are too small", 413);
    if (decoded_ + left_ > limits_.bytes_max) return refuse("the body is too large", 413);
    state_ = State::data;
    return {};
}

}  // namespace tandem::relay
