// SPDX-License-Identifier: Apache-2.0
// DFT(x[..., 1 or 2], length?, axis?) {inverse, onesided}: sums of N terms in f64. One-sided: the forward transform of real
// values keeps the first N/2 + 1, and the inverse makes N real values from those.
#include <algorithm>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/fourier.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

struct DftAttributes {
  bool inverse = false;
  bool onesided = false;

  OCTET_ATTRIBUTES(inverse, onesided)
};

enum : size_t { kX, kLength, kAxis };

constexpr auto kInvalid = Error::Code::invalid_model;

// Opset 17 had the axis as an attribute, 1 by default; since opset 20 it is an input, -2 by default.
void parse(NodeParser& parser) {
  if (parser.opset >= 20) return;
  const s64 axis = parser.node.attrs.i("axis", 1);
  parser.node.attrs.erase("axis");
  parser.set_input(kAxis, Tensor::scalar<s64>(axis));
}

struct Transform {
  int axis = 0;
  s64 length = 0;  // N
  s64 given = 0;   // elements of the input that count
  s64 made = 0;    // elements of the output
  s64 in_parts = 2, out_parts = 2;
  bool inverse = false;
  bool mirrored = false;  // the input is the first half of a symmetric spectrum
};

s64 single(std::span<const s64> values, std::string_view what) {
  if (values.size() == 1) return values[0];
  fail(kInvalid, "{} has {} values, expected one", what, values.size());
}

Transform transform_of(const Node& node, const Shape& x, std::span<const s64> lengths,
                       std::span<const s64> axes) {
  Transform t;
  const int rank = x.rank();
  if (rank < 2 || x[rank - 1] < 1 || x[rank - 1] > 2) {
    fail(kInvalid, "the input is {}, expected 1 or 2 in the last axis", to_string(x));
  }
  t.axis = normalize_axis(axes.empty() ? -2 : single(axes, "the axis"), rank);
  if (t.axis == rank - 1) fail(kInvalid, "the axis is the last one, which holds complex parts");
  const auto [inverse, onesided] = attributes_of<DftAttributes>(node);
  t.inverse = inverse;
  t.mirrored = onesided && t.inverse;
  t.in_parts = x[rank - 1];
  if (onesided && t.in_parts != (t.inverse ? 2 : 1)) {
    fail(kInvalid, "a one-sided transform cannot begin with {}", to_string(x));
  }
  const s64 natural = t.mirrored ? 2 * (x[t.axis] - 1) : x[t.axis];
  t.length = lengths.empty() ? natural : single(lengths, "dft_length");
  if (t.length < 1) fail(kInvalid, "the transform has length {}", t.length);
  t.given = std::min(x[t.axis], t.mirrored ? t.length / 2 + 1 : t.length);
  t.made = onesided && !t.inverse ? t.length / 2 + 1 : t.length;
  t.out_parts = t.mirrored ? 1 : 2;
  return t;
}

void infer(Inference& inference) {
  require_dtype(inference, kX, DtypeClass::real);
  std::vector<s64> lengths, axes;
  if (inference.has_input(kLength)) lengths = inference.required_ints(kLength, "dft_length");
  if (inference.has_input(kAxis)) axes = inference.required_ints(kAxis, "the axis");
  Shape shape = inference.inputs[kX].shape;
  const Transform t = transform_of(inference.node, shape, lengths, axes);
  shape[t.axis] = t.made;
  shape[shape.rank() - 1] = t.out_parts;
  inference.output(inference.inputs[kX].dtype, shape);
}

// A mirrored spectrum holds its first half; the rest are conjugates.
void set(FourierLine& line, const Transform& t, s64 i, Complex value) {
  line.set(i, value);
  const bool twin = t.mirrored && i > 0 && i < t.length - i;
  if (twin) line.set(t.length - i, {value.re, -value.im});
}

// [outer][given or made][inner][parts]
template <class T>
void transform(const Transform& t, const Shape& shape, const T* src, T* dst) {
  const s64 outer = dims_product(shape, 0, t.axis);
  const s64 inner = dims_product(shape, t.axis + 1, shape.rank() - 1);
  FourierLine line(t.length, t.inverse);
  const auto part = [](T value) { return static_cast<f64>(static_cast<Wide<T>>(value)); };
  for (s64 row = 0; row < outer * inner; ++row) {
    const s64 o = row / inner, i = row % inner;
    for (s64 n = 0; n < t.given; ++n) {
      const T* x = src + ((o * shape[t.axis] + n) * inner + i) * t.in_parts;
      set(line, t, n, {part(x[0]), t.in_parts == 2 ? part(x[1]) : 0.0});
    }
    for (s64 k = 0; k < t.made; ++k) {
      const Complex y = line.result(k);
      T* out = dst + ((o * t.made + k) * inner + i) * t.out_parts;
      out[0] = static_cast<T>(static_cast<Wide<T>>(y.re));
      if (t.out_parts == 2) out[1] = static_cast<T>(static_cast<Wide<T>>(y.im));
    }
  }
}

void eval(const Eval& eval) {
  if (eval.outputs[0].shape.elements() == 0) return;
  const Shape& shape = eval.inputs[kX].shape;
  const Transform t =
      transform_of(eval.node, shape, read_ints(eval, kLength), read_ints(eval, kAxis));
  visit_real(eval.outputs[0].dtype, [&]<class T>() {
    transform(t, shape, eval.inputs[kX].as<T>().data(), eval.outputs[0].as<T>().data());
  });
}

// Each element is a sum over the transform's length, which a one-sided result has half of. The axis is data: at most the
// longest.
f64 work(const Node&, TensorTypes, TensorTypes outputs) {
  const Shape& y = outputs[0].shape;
  return element_count(y) * 2 * static_cast<f64>(*std::ranges::max_element(y));
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kDFT{.name = "DFT",
                                  .inputs = {1, 3},
                                  .parse = parse,
                                  .infer = infer,
                                  .eval = eval,
                                  .traits = &kTraits};
}  // namespace octet
