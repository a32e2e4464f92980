// SPDX-License-Identifier: Apache-2.0
// com.microsoft DynamicQuantizeMatMul(a, b, scale of b, zero points of b, bias): a gets codes over its own range, and is multiplied by codes.
#include <vector>

#include "ops/shared/contrib.h"

namespace octet {
namespace {

enum : size_t { kA, kB, kBScale, kBZero, kBias };

void parse(NodeParser& parser) {
  const ValueId real = parser.required(kA), b = parser.required(kB);
  const ValueId b_scale = parser.required(kBScale);
  const std::vector<ValueId> a = parser.emit_several("DynamicQuantizeLinear", {real}, 3);
  parse_scaled_product(parser, {.a = a[0],
                                .b = b,
                                .a_scale = a[1],
                                .b_scale = b_scale,
                                .a_zero = a[2],
                                .b_zero = parser.node.input(kBZero),
                                .bias = parser.node.input(kBias)});
}

}  // namespace

extern constinit const OpDef kDynamicQuantizeMatMul =
    contrib_operator("DynamicQuantizeMatMul", {3, 5}, parse);
}  // namespace octet
