// SPDX-License-Identifier: Apache-2.0
// ValueInfoProto -> DeclaredType.
#pragma once

#include <optional>

#include "graph/declared.h"
#include "onnx/onnx.pb.h"

namespace octet {

// Empty where nothing is declared that could be compared. Throws Error(invalid_model) for an element type that ONNX lacks.
std::optional<DeclaredType> declared_type(const octet_onnx::ValueInfoProto& proto, ValueId id);

}  // namespace octet
