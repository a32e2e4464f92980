// SPDX-License-Identifier: Apache-2.0
// GridSample(x[N, C, D...], grid[N, O..., r]): y[N, C, O...] is x at the positions that the grid gives, each axis from -1 to 1
// and the last axis of x first.
#include "ops/shared/grid_sample.h"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  const std::string mode = parser.node.attrs.s("mode", "linear");
  if (mode == "bilinear") parser.node.attrs.set("mode", std::string("linear"));
  if (mode == "bicubic") parser.node.attrs.set("mode", std::string("cubic"));
}

void infer(Inference& inference) {
  const Shape &x = inference.inputs[0].shape, &grid = inference.inputs[1].shape;
  require_dtype(inference, 0, DtypeClass::real);
  require_dtype(inference, 1, DtypeClass::real);
  attributes_of<GridSampleAttributes>(inference.node);
  const int rank = x.rank();
  if (rank < 3 || grid.rank() != rank || grid[0] != x[0] || grid[rank - 1] != rank - 2) {
    fail(Error::Code::invalid_model, "the input is {} and the grid {}; they do not fit",
         to_string(x), to_string(grid));
  }
  Shape output{x[0], x[1]};
  for (int i = 1; i < rank - 1; ++i) output.push_back(grid[i]);
  if (x.elements() == 0 && output.elements() != 0) {
    fail(Error::Code::invalid_model, "nothing can be sampled from {}", to_string(x));
  }
  inference.output(inference.inputs[0].dtype, output);
}

// The sum over the product of the axes' taps, from axis `axis` on.
f32 sample(std::span<const GridTaps> taps, const Shape& shape, const f32* image, s64 offset) {
  if (taps.empty()) return image[offset];
  const s64 size = shape[shape.rank() - static_cast<int>(taps.size())];
  f32 sum = 0.0f;
  for (int k = 0; k < taps[0].count; ++k) {
    const size_t tap = static_cast<size_t>(k);
    const s64 index = taps[0].index[tap];
    if (index < 0) continue;
    sum += taps[0].weight[tap] * sample(taps.subspan(1), shape, image, offset * size + index);
  }
  return sum;
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const GridSampleAttributes sampling = attributes_of<GridSampleAttributes>(eval.node);
  const int spatial = shape.rank() - 2;
  const s64 pixels = dims_product(shape, 2, shape.rank());
  const s64 points = dims_product(eval.outputs[0].shape, 2, shape.rank());
  const FloatInput x(eval, 0), grid(eval, 1);
  const FloatOutput y(eval.outputs[0]);
  std::vector<GridTaps> taps(static_cast<size_t>(spatial));
  for (s64 at = 0; at < std::ssize(grid.values()) / spatial && !y.values().empty(); ++at) {
    for (int i = 0; i < spatial; ++i) {
      taps[static_cast<size_t>(i)] =
          GridAxis(sampling, shape[2 + i]).taps(grid[at * spatial + spatial - 1 - i]);
    }
    for (s64 c = 0; c < shape[1]; ++c) {
      const s64 plane = at / points * shape[1] + c;
      y[plane * points + at % points] = sample(taps, shape, x.data() + plane * pixels, 0);
    }
  }
  y.store();
}

// Each element is a sum over the taps of all axes.
f64 work(const Node&, TensorTypes, TensorTypes outputs) {
  const Shape& y = outputs[0].shape;
  return element_count(y) * std::pow(kMostGridTaps, y.rank() - 2);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kGridSample{.name = "GridSample",
                                         .inputs = {2, 2},
                                         .parse = parse,
                                         .infer = infer,
                                         .eval = eval,
                                         .traits = &kTraits};
}  // namespace octet
