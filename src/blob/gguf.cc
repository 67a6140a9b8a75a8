// SPDX-License-Identifier: Apache-2.0
#include "blob/gguf.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

#include "base/quantity.h"
#include "blob/gguf_cursor.h"

namespace tandem::blob {
namespace {

constexpr std::uint64_t entries_max = 65'536;
constexpr std::uint64_t tensors_max = 65'536;
constexpr std::uint64_t key_length_max = 1024;
constexpr std::uint64_t text_length_max = 1 << 20;
constexpr int array_depth_max = 4;
constexpr std::uint32_t dimensions_max = 4;
constexpr std::uint64_t alignment_default = 32;

// Types of values (gguf.md, gguf_metadata_value_type).
constexpr std::uint32_t type_text = 8;
constexpr std::uint32_t type_array = 9;
constexpr std::array<int, 13> bytes_of_type{1, 1, 2, 2, 4, 4, 4,
                                            1, 0, 0, 8, 8, 8};  // 0: text, array

// ggml's tensor types: number, name, elements and bytes of one block (ggml.c, type_traits).
struct TensorType {
    std::uint32_t number;
    std::string_view name;
    std::int64_t elements;
    std::int64_t bytes;
};
constexpr std::array<TensorType, 32> tensor_types{{
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
}};

const TensorType* find_tensor_type(std::uint32_t number) {
    const auto found = std::ranges::find(tensor_types, number, &TensorType::number);
    return found == tensor_types.end() ? nullptr : &*found;
}

struct Header {
    std::map<std::string, std::string> texts{};
    std::map<std::string, std::uint64_t> numbers{};
    std::map<std::string_view, std::int64_t> elements_by_type{};
    std::int64_t parameters = 0;
    std::int64_t tensors = 0;
    std::uint64_t data_bytes = 0;  // that the tensors need, from the start of the data
};

void skip_value(GgufCursor& in, std::uint32_t type, const std::string& key, int depth);

void skip_array(GgufCursor& in, const std::string& key, int depth) {
    const auto type = static_cast<std::uint32_t>(in.number(4));
    const std::uint64_t count = in.number(8);
    if (depth == array_depth_max)
        return in.fail_with("entry \"" + key + "\" nests arrays deeper than 4");
    if (type < bytes_of_type.size() && bytes_of_type[type] > 0) {
        // An element is at least one byte: more of them than the header may hold can't be true.
        if (count > (std::uint64_t{1} << 32))
            return in.fail_with("entry \"" + key + "\" claims " + std::to_string(count) +
                                " elements");
        return in.skip(count * static_cast<std::uint64_t>(bytes_of_type[type]),
                       "array \"" + key + "\"");
    }
    for (std::uint64_t i = 0; i < count && !in.failed(); ++i) skip_value(in, type, key, depth + 1);
}

void skip_value(GgufCursor& in, std::uint32_t type, const std::string& key, int depth) {
    if (type >= bytes_of_type.size())
        return in.fail_with("entry \"" + key + "\" has the unknown type " + std::to_string(type));
    if (type == type_array) return skip_array(in, key, depth);
    if (type == type_text) return in.skip(in.number(8), "text of \"" + key + "\"");
    in.skip(static_cast<std::uint64_t>(bytes_of_type[type]), "value of \"" + key + "\"");
}

std::string printable(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
    return text;
}

void read_entry(GgufCursor& in, Header& header, std::set<std::string>& keys) {
    const std::string key = printable(in.text(key_length_max, "a key"));
    const auto type = static_cast<std::uint32_t>(in.number(4));
    if (in.failed()) return;
    if (!keys.insert(key).second) return in.fail_with("entry \"" + key + "\" is there twice");
    const bool wanted = key == "general.architecture" || key == "general.alignment" ||
                        key.ends_with(".context_length");
    if (wanted && type == type_text)
        header.texts[key] = printable(in.text(text_length_max, "text of \"" + key + "\""));
    else if (wanted && (type == 4 || type == 10))
        header.numbers[key] = in.number(bytes_of_type[type]);
    else
        skip_value(in, type, key, 0);
}

// Elements of a tensor; absent after an error.
std::optional<std::int64_t> read_shape(GgufCursor& in, const std::string& name) {
    const auto dimensions = static_cast<std::uint32_t>(in.number(4));
    if (dimensions > dimensions_max)
        in.fail_with("tensor \"" + name + "\" has " + std::to_string(dimensions) +
                     " dimensions, at most 4 are possible");
    std::int64_t elements = 1;
    for (std::uint32_t i = 0; i < dimensions && !in.failed(); ++i) {
        const std::uint64_t size = in.number(8);
        const auto product = size > INT64_MAX || size == 0
                                 ? fail(ErrorCode::invalid, "")
                                 : checked_multiply(elements, static_cast<std::int64_t>(size));
        if (!product)
            in.fail_with("tensor \"" + name + "\" has an impossible dimension " +
                         std::to_string(size));
        else
            elements = *product;
    }
    if (in.failed()) return std::nullopt;
    return elements;
}

void read_tensor(GgufCursor& in, Header& header) {
    const std::string name = printable(in.text(key_length_max, "a tensor's name"));
    const auto elements = read_shape(in, name);
    const auto number = static_cast<std::uint32_t>(in.number(4));
    const std::uint64_t offset = in.number(8);
    if (in.failed() || !elements) return;
    const TensorType* type = find_tensor_type(number);
    // A type of a newer format: its size is not known, but one byte there must be.
    const std::int64_t blocks =
        type == nullptr ? 1 : *elements / type->elements + (*elements % type->elements != 0);
    const auto bytes = checked_multiply(blocks, type == nullptr ? 1 : type->bytes);
    const auto parameters = checked_add(header.parameters, *elements);
    if (!bytes || !parameters || offset > INT64_MAX - static_cast<std::uint64_t>(*bytes))
        return in.fail_with("tensor \"" + name + "\" is larger than any file");
    header.parameters = *parameters;
    header.data_bytes = std::max(header.data_bytes, offset + static_cast<std::uint64_t>(*bytes));
    header.elements_by_type[type == nullptr ? "unknown" : type->name] += *elements;
}

std::uint64_t read_start(GgufCursor& in, Header& header) {
    std::string magic;
    for (int i = 0; i < 4; ++i) magic.push_back(static_cast<char>(in.number(1)));
    if (!in.failed() && magic != "GGUF")
        in.fail_with("the file does not begin with \"GGUF\" but with \"" + printable(magic) +
                     "\"; is it a GGUF file?");
    const auto version = static_cast<std::uint32_t>(in.number(4));
    if (!in.failed() && (version & 0xffff) == 0 && version != 0)
        in.fail_with("big-endian files are not supported");
    if (!in.failed() && version != 2 && version != 3)
        in.fail_with("version " + std::to_string(version) + " is not supported; 2 and 3 are");
    const std::uint64_t tensors = in.number(8);
    const std::uint64_t entries = in.number(8);
    if (tensors > tensors_max)
        in.fail_with("claims " + std::to_string(tensors) + " tensors, at most 65536 are taken");
    if (entries > entries_max)
        in.fail_with("claims " + std::to_string(entries) + " entries, at most 65536 are taken");
    header.tensors = in.failed() ? 0 : static_cast<std::int64_t>(tensors);
    return in.failed() ? 0 : entries;
}

void check_data(GgufCursor& in, const Header& header, std::int64_t file_bytes) {
    const auto found = header.numbers.find("general.alignment");
    const std::uint64_t alignment =
        found == header.numbers.end() ? alignment_default : found->second;
    if (alignment == 0 || alignment % 8 != 0 || alignment > (1 << 20))
        return in.fail_with("general.alignment must be a multiple of 8 up to 1048576, is " +
                            std::to_string(alignment));
    const std::uint64_t start =
        (static_cast<std::uint64_t>(in.offset()) + alignment - 1) / alignment * alignment;
    if (header.tensors > 0 &&
        header.data_bytes > static_cast<std::uint64_t>(file_bytes) -
                                std::min(start, static_cast<std::uint64_t>(file_bytes)))
        in.fail_with("cut off: the tensors need " + std::to_string(start + header.data_bytes) +
                     " bytes, the file has " + std::to_string(file_bytes));
}

// The type that most parameters have.
std::string_view main_type(const Header& header) {
    std::string_view name;
    std::int64_t most = 0;
    for (const auto& [type, elements] : header.elements_by_type)
        if (elements > most) std::tie(name, most) = std::pair(type, elements);
    return name;
}

}  // namespace

Result<model::ModelFacts> read_gguf(const ReadAt& read_at, std::int64_t file_bytes) {
    GgufCursor in(read_at, file_bytes);
    Header header;
    std::set<std::string> keys;
    const std::uint64_t entries = read_start(in, header);
    for (std::uint64_t i = 0; i < entries && !in.failed(); ++i) read_entry(in, header, keys);
    for (std::int64_t i = 0; i < header.tensors && !in.failed(); ++i) read_tensor(in, header);
    if (!in.failed()) check_data(in, header, file_bytes);
    const std::string architecture = header.texts["general.architecture"];
    if (!in.failed() && architecture.empty())
        in.fail_with("entry \"general.architecture\" is missing");
    if (!in.failed() && header.tensors == 0) in.fail_with("there are no tensors");
    if (in.failed()) return pass_on(in.error());
    const std::uint64_t context = header.numbers[architecture + ".context_length"];
    return model::ModelFacts{
        .architecture = architecture,
        .quantisation = std::string(main_type(header)),
        .context_length = static_cast<std::int64_t>(std::min<std::uint64_t>(context, INT32_MAX)),
        .parameters = header.parameters,
        .tensors = header.tensors};
}

Result<model::ModelFacts> read_gguf_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return fail(ErrorCode::not_found, path + " can't be opened", "file");
    const auto bytes = static_cast<std::int64_t>(file.tellg());
    return read_gguf(
        [&](std::int64_t offset, std::int64_t length) -> Result<std::string> {
            std::string window(static_cast<std::size_t>(std::min(length, bytes - offset)), '\0');
            file.seekg(offset);
            file.read(window.data(), std::ssize(window));
            if (!file)
                return fail(ErrorCode::internal,
                            path + " can't be read at byte " + std::to_string(offset));
            return window;
        },
        bytes);
}

Result<model::ModelFacts> parse_gguf(std::string_view file) {
    return read_gguf(
        [file](std::int64_t offset, std::int64_t length) -> Result<std::string> {
            return std::string(
                file.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)));
        },
        std::ssize(file));
}

}  // namespace tandem::blob
