// SPDX-License-Identifier: Apache-2.0
// Shape(x) {start=0, end=rank}: the dimensions of x as s64; both bounds are clamped. Never reads x's elements.
#include <algorithm>

#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/moves.h"

namespace octet {
namespace {

std::span<const s64> dims_of(const Node& node, const Shape& input) {
  const s64 rank = input.rank();
  const auto bound = [&](s64 at) { return std::clamp<s64>(at < 0 ? at + rank : at, 0, rank); };
  const auto attributes = attributes_of<ShapeAttributes>(node);
  const s64 start = bound(attributes.start);
  const s64 end = std::max(start, bound(attributes.end.value_or(rank)));
  return input.dims().subspan(static_cast<size_t>(start), static_cast<size_t>(end - start));
}

void infer(Inference& inference) {
  const auto dims = dims_of(inference.node, inference.inputs[0].shape);
  inference.output(Dtype::s64, Shape{static_cast<s64>(dims.size())});
}

void eval(const Eval& eval) {
  const auto dims = dims_of(eval.node, eval.inputs[0].shape);
  std::copy(dims.begin(), dims.end(), eval.outputs[0].as<s64>().begin());
}

constexpr OpTraits kTraits{.reads_types_only = true};

}  // namespace

extern constinit const OpDef kShape{
    .name = "Shape", .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
