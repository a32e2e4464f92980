// SPDX-License-Identifier: Apache-2.0
// com.microsoft MatMulIntegerToFloat(a, b, scale of a, scale of b, zero points of a and of b, bias): the product of the numbers that codes
// stand for, from sums of codes.
#include "ops/shared/contrib.h"

namespace octet {
namespace {

enum : size_t { kA, kB, kAScale, kBScale, kAZero, kBZero, kBias };

void parse(NodeParser& parser) {
  parse_scaled_product(parser, {.a = parser.required(kA),
                                .b = parser.required(kB),
                                .a_scale = parser.required(kAScale),
                                .b_scale = parser.required(kBScale),
                                .a_zero = parser.node.input(kAZero),
                                .b_zero = parser.node.input(kBZero),
                                .bias = parser.node.input(kBias)});
}

}  // namespace

extern constinit const OpDef kMatMulIntegerToFloat =
    contrib_operator("MatMulIntegerToFloat", {4, 7}, parse);
}  // namespace octet
