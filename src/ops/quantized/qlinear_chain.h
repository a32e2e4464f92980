// SPDX-License-Identifier: Apache-2.0
// com.microsoft's QLinear* operators are read as DequantizeLinear, the float operator, QuantizeLinear, which the passes
// fuse into one integer operator.
#pragma once

#include <string_view>
#include <vector>

#include "ops/shared/node_parser.h"

namespace octet {

// Where the node's inputs lie. Codes are followed by their scale and zero point, the output's scale by its zero point.
struct QLinearChain {
  std::string_view op;  // the float operator; its inputs are the operands
  std::vector<size_t> operands;
  size_t output_scale = 0;
};

// The node becomes chain.op on real inputs; attributes stay.
void parse_qlinear_chain(NodeParser& parser, const QLinearChain& chain);

// QLinearAdd and QLinearMul: A, its scale and zero point, the same of B, then scale and zero point of C.
void parse_qlinear_binary(NodeParser& parser, std::string_view op);
// X, its scale and zero point, then scale and zero point of Y.
void parse_qlinear_unary(NodeParser& parser, std::string_view op);

}  // namespace octet
