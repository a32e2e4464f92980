// SPDX-License-Identifier: Apache-2.0
// com.microsoft QAttention(codes of x, codes of weights, bias, scales of both, mask, zero points of both, past): Attention whose queries, keys and values are
// products of codes.
#include "ops/attributes/codes.h"
#include "ops/shared/contrib.h"
#include "ops/shared/contrib_attention.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kXScale, kWeightScale, kMask, kXZero, kWeightZero, kPast };

// Products of x by the columns of each part, real.
class PartProducts {
 public:
  explicit PartProducts(NodeParser& parser)
      : parser_(parser),
        x_(parser.required(kX)),
        x_scale_(parser.required(kXScale)),
        x_zero_(parser.node.input(kXZero)),
        weights_(parts_of_three(parser, kWeights, {.rank = 2})),
        scales_(parts_of_three(parser, kWeightScale, {.shared = true})),
        zeros_(parts_of_three(parser, kWeightZero, {.shared = true})),
        biases_(parts_of_three(parser, kBias, {})) {}

  ValueId operator()(size_t part) {
    std::vector<ValueId> inputs = {x_, weights_[part], x_zero_, zeros_[part]};
    while (inputs.back() == kNoValue) inputs.pop_back();
    Attrs real;
    set_attribute<&CastAttributes::to>(real, Dtype::f32);
    const ValueId scale = parser_.emit_before("Mul", {x_scale_, scales_[part]});
    const ValueId sums = parser_.emit_before("MatMulInteger", std::move(inputs));
    const ValueId reals = parser_.emit_before("Cast", {sums}, std::move(real));
    return parser_.emit_before("Add", {parser_.emit_before("Mul", {reals, scale}), biases_[part]});
  }

 private:
  NodeParser& parser_;
  ValueId x_, x_scale_, x_zero_;
  std::vector<ValueId> weights_, scales_, zeros_, biases_;
};

void parse(NodeParser& parser) {
  for (const size_t needed : {kX, kWeights, kBias, kXScale, kWeightScale}) parser.required(needed);
  refuse_shared_past(parser, kPast);
  PartProducts product(parser);
  const ValueId mask = parser.node.input(kMask);
  become_attention(parser, {.q = product(0), .k = product(1), .v = product(2), .shown = mask});
  parser.node.outputs.resize(1);
}

}  // namespace

extern constinit const OpDef kQAttention = contrib_operator("QAttention", {5, 9}, parse, {1, 2});
}  // namespace octet
