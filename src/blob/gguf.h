// SPDX-License-Identifier: Apache-2.0
// Reads the header of a GGUF file (versions 2 and 3, little-endian; format: ggml's docs/gguf.md)
// under limits, and checks that the file is long enough for every tensor that the header promises.
// Limits: header 64 MiB, 65,536 entries, 65,536 tensors, keys and tensor names 1 KiB, texts 1 MiB,
// arrays 4 deep. Errors: invalid, field "file", saying what is wrong and where. Thread rule: any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/service.h"

namespace tandem::blob {

// `length` bytes from `offset`; fewer only at the end of the file.
using ReadAt = std::function<Result<std::string>(std::int64_t offset, std::int64_t length)>;

Result<model::ModelFacts> read_gguf(const ReadAt& read_at, std::int64_t file_bytes);
Result<model::ModelFacts> read_gguf_file(const std::string& path);
Result<model::ModelFacts> parse_gguf(std::string_view file);  // the whole file, in memory

}  // namespace tandem::blob
