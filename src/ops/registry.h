// SPDX-License-Identifier: Apache-2.0
// The table that ops.def expands to.
#pragma once

#include <span>
#include <string_view>

#include "graph/op_def.h"

namespace octet {

std::span<const OpDef* const> all_ops();
const OpDef* find_op(std::string_view name);  // by canonical name; null when unknown
const OpDef* find_onnx_op(std::string_view domain,
                          std::string_view name);  // "ai.onnx" and "" are one domain

}  // namespace octet
