// SPDX-License-Identifier: Apache-2.0
// AffineGrid(theta[N, r, r+1], size[N, C, D...]): for each point of an image of that size, where theta maps it; the positions
// of GridSample.
#include <array>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

struct AffineGridAttributes {
  bool align_corners = false;

  OCTET_ATTRIBUTES(align_corners)
};

void infer(Inference& inference) {
  const Shape& theta = inference.inputs[0].shape;
  require_dtype(inference, 0, DtypeClass::real);
  attributes_of<AffineGridAttributes>(inference.node);
  const std::vector<s64> size = inference.required_ints(1, "the size");
  const s64 spatial = std::ssize(size) - 2;
  if ((spatial != 2 && spatial != 3) || theta != Shape{size[0], spatial, spatial + 1}) {
    fail(Error::Code::invalid_model, "theta is {}; it does not fit a size of {} values",
         to_string(theta), size.size());
  }
  Shape output{size[0]};
  for (size_t i = 2; i < size.size(); ++i) {
    if (size[i] < 0) fail(Error::Code::invalid_model, "the size has a dimension of {}", size[i]);
    output.push_back(size[i]);
  }
  output.push_back(spatial);
  inference.output(inference.inputs[0].dtype, output);
}

f32 coordinate(s64 i, s64 size, bool align_corners) {
  const f32 at = static_cast<f32>(i), n = static_cast<f32>(size);
  if (!align_corners) return (2.0f * at + 1.0f) / n - 1.0f;
  return size == 1 ? 0.0f : 2.0f * at / (n - 1.0f) - 1.0f;
}

void eval(const Eval& eval) {
  const Shape& shape = eval.outputs[0].shape;
  const bool align_corners = attribute_of<&AffineGridAttributes::align_corners>(eval.node);
  const s64 spatial = shape[shape.rank() - 1];
  const FloatInput theta(eval, 0);
  const FloatOutput y(eval.outputs[0]);
  const s64 points = dims_product(shape, 1, shape.rank() - 1);
  for (s64 at = 0; at < std::ssize(y.values()) / spatial; ++at) {
    std::array<f32, 4> x{};  // the last axis first, then 1
    s64 rest = at % points;
    for (s64 i = 0; i < spatial; ++i) {
      const s64 size = shape[static_cast<int>(spatial - i)];
      x[static_cast<size_t>(i)] = coordinate(rest % size, size, align_corners);
      rest /= size;
    }
    x[static_cast<size_t>(spatial)] = 1.0f;
    for (s64 i = 0; i < spatial; ++i) {
      const f32* row = theta.data() + (at / points * spatial + i) * (spatial + 1);
      f32 sum = 0.0f;
      for (s64 k = 0; k <= spatial; ++k) sum += row[k] * x[static_cast<size_t>(k)];
      y[at * spatial + i] = sum;
    }
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kAffineGrid{
    .name = "AffineGrid", .inputs = {2, 2}, .infer = infer, .eval = eval};
}  // namespace octet
