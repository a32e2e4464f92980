// SPDX-License-Identifier: Apache-2.0
// RoundTo(x) {to}: each element at the nearest value of a 16-bit float type ("f16" or "bf16"), ties to even, kept as f32: what a layer
// of that type reads and gives (docs/numerics.md section 7).
#include "core/check.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/codes.h"

namespace octet {
namespace {

template <class Half>
void round_elements(std::span<const f32> x, std::span<f32> y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<f32>(Half(x[i]));
}

void infer(Inference& inference) {
  const Dtype to = attribute_of<&CastAttributes::to>(inference.node);
  if (to != Dtype::f16 && to != Dtype::bf16)
    fail(Error::Code::invalid_model, "rounds to '{}', neither f16 nor bf16", dtype_name(to));
  check_dtype(Dtype::f32, inference.inputs[0].dtype);
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const auto x = eval.inputs[0].as<f32>();
  const auto y = eval.outputs[0].as<f32>();
  if (attribute_of<&CastAttributes::to>(eval.node) == Dtype::f16) {
    round_elements<f16>(x, y);
  } else {
    round_elements<bf16>(x, y);
  }
}

constexpr OpTraits kTraits{.elementwise = true};

}  // namespace

extern constinit const OpDef kRoundTo{
    .name = "RoundTo", .domain = "octet", .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
