// SPDX-License-Identifier: Apache-2.0
#include "gateway/journal_record.h"

#include "crypto/crc32.h"

namespace tandem::gateway {
namespace {

std::uint32_t read_u32(const char* at) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(at);
    return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
           static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

void put_u32(char* at, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) *at++ = static_cast<char>((value >> shift) & 0xff);
}

}  // namespace

std::size_t begin_record(std::string& out) {
    out.append(record_head, '\0');
    return out.size() - record_head;
}

void end_record(std::string& out, std::size_t begin) {
    const auto body = std::string_view(out).substr(begin + record_head);
    put_u32(out.data() + begin, static_cast<std::uint32_t>(body.size()));
    put_u32(out.data() + begin + 4, crypto::crc32(body));
}

std::uint32_t record_size(std::string_view records) {
    return read_u32(records.data());
}

std::optional<std::string_view> take_record(std::string_view text) {
    if (text.size() < 8) return std::nullopt;
    const auto size = read_u32(text.data());
    if (size == 0 || size > record_max || text.size() - 8 < size) return std::nullopt;
    const auto body = text.substr(8, size);
    if (crypto::crc32(body) != read_u32(text.data() + 4)) return std::nullopt;
    return body;
}

}  // namespace tandem::gateway
