// SPDX-License-Identifier: Apache-2.0
// Walks the protobuf wire format of a model before the parser does: exact byte offsets for damaged files, the nesting
// depth without recursion, and the memory that the parsed messages will take.
#pragma once

#include <cstddef>
#include <span>

#include "core/types.h"

namespace octet {

inline constexpr int kMaxMessageDepth = 100;  // protobuf's own limit

// Bytes that the parsed ModelProto will occupy, roughly. Throws Error(invalid_model) when the bytes are not a
// well-formed ModelProto: truncated, corrupt, nested too deep, or nothing like one.
s64 scan_model(std::span<const std::byte> bytes);

}  // namespace octet
