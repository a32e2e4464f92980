// SPDX-License-Identifier: Apache-2.0
// File -> bytes -> ModelProto, refusing what is no ONNX model before protobuf sees it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "core/types.h"
#include "onnx/onnx.pb.h"

namespace octet {

// The whole of a regular file of at most 2 GiB - 1, protobuf's own limit. Throws Error(io) with the system's reason.
std::vector<std::byte> read_model_file(const std::filesystem::path& file, s64 max_bytes);

octet_onnx::ModelProto parse_model(std::span<const std::byte> bytes, s64 max_bytes);

// Three quarters of the machine's memory.
s64 default_max_bytes();

}  // namespace octet
