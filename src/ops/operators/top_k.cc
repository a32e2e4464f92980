// SPDX-License-Identifier: Apache-2.0
// TopK(x, k) {axis=-1, largest=1, sorted=1}: the k extreme values along an axis and their indices. Always sorted; of equal
// values the lower index comes first, and NaN counts as the largest number.
#include <algorithm>
#include <numeric>

#include "graph/op_def.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/open_dims.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  if (parser.opset >= 10) return;
  const s64 k = parser.node.attrs.i("k");
  parser.node.attrs.erase("k");
  parser.set_input(1, Tensor::of<s64>(Shape{1}, {&k, 1}));
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  const TensorType& input = inference.inputs[0];
  const int axis =
      normalize_axis(attribute_of<&TopKAttributes::axis>(inference.node), input.shape.rank());
  if (dims_are_open(inference, 1)) {
    Shape open = input.shape;
    open[axis] = Shape::kDynamic;
    inference.output(input.dtype, open);
    inference.output(Dtype::s64, open);
    return;
  }
  const std::vector<s64> k = inference.required_ints(1, "the number of elements k");
  if (k.size() != 1 || k[0] < 0 || k[0] > input.shape[axis]) {
    fail(Error::Code::invalid_model, "k is {}, expected one number in [0, {}]",
         k.empty() ? 0 : k[0], input.shape[axis]);
  }
  Shape output = input.shape;
  output[axis] = k[0];
  inference.output(input.dtype, output);
  inference.output(Dtype::s64, output);
}

// A total order, also with NaN.
template <class T>
bool before(T a, T b, bool largest) {
  if (a != a || b != b) return largest ? a != a && b == b : a == a && b != b;
  return largest ? a > b : a < b;
}

struct Line {
  s64 length;
  s64 stride;
  s64 k;
  bool largest;
};

template <class T>
void select(const Line& line, const T* src, std::vector<s64>& order) {
  using W = Wide<T>;
  std::iota(order.begin(), order.end(), s64{0});
  std::partial_sort(order.begin(), order.begin() + line.k, order.end(), [&](s64 i, s64 j) {
    const W a = static_cast<W>(src[i * line.stride]);
    const W b = static_cast<W>(src[j * line.stride]);
    if (before(a, b, line.largest)) return true;
    return !before(b, a, line.largest) && i < j;
  });
}

template <class T>
void top_k(const Eval& eval, int axis) {
  const Shape& input = eval.inputs[0].shape;
  const s64 inner = dims_product(input, axis + 1, input.rank());
  const s64 outer = dims_product(input, 0, axis);
  const Line line{input[axis], inner, eval.outputs[0].shape[axis],
                  attribute_of<&TopKAttributes::largest>(eval.node)};
  const T* src = eval.inputs[0].as<T>().data();
  T* values = static_cast<T*>(eval.outputs[0].data);
  s64* indices = eval.outputs.size() > 1 ? static_cast<s64*>(eval.outputs[1].data) : nullptr;
  std::vector<s64> order(static_cast<size_t>(line.length));
  for (s64 n = 0; n < outer * inner; ++n) {
    const T* from = src + n / inner * inner * line.length + n % inner;
    const s64 to = n / inner * inner * line.k + n % inner;
    select(line, from, order);
    for (s64 i = 0; i < line.k; ++i) {
      const s64 index = order[static_cast<size_t>(i)];
      if (values != nullptr) values[to + i * inner] = from[index * inner];
      if (indices != nullptr) indices[to + i * inner] = index;
    }
  }
}

void eval(const Eval& eval) {
  const int axis =
      normalize_axis(attribute_of<&TopKAttributes::axis>(eval.node), eval.inputs[0].shape.rank());
  if (eval.outputs[0].shape.elements() == 0) return;
  visit_number(eval.inputs[0].dtype, [&]<class T>() { top_k<T>(eval, axis); });
}

f64 work(const Node&, TensorTypes inputs, TensorTypes) {
  return sorting_work(element_count(inputs[0].shape));
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kTopK{.name = "TopK",
                                   .inputs = {2, 2},
                                   .outputs = {1, 2},
                                   .parse = parse,
                                   .infer = infer,
                                   .eval = eval,
                                   .traits = &kTraits};
}  // namespace octet
