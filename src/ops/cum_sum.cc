// SPDX-License-Identifier: Apache-2.0
// CumSum(x, axis) {exclusive, reverse}: running sums along one axis, one addition after another.
#include "graph/op_def.h"
#include "ops/axes.h"
#include "ops/dtypes.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  require_dtype(inference, 1, DtypeClass::index);
  if (inference.inputs[1].shape.elements() != 1) {
    fail(Error::Code::invalid_model, "the axis is {}, expected a scalar",
         to_string(inference.inputs[1]));
  }
  if (inference.value(1) != nullptr) {
    normalize_axis(inference.required_ints(1, "the axis")[0], inference.inputs[0].shape.rank());
  }
  inference.same_as_input(0);
}

struct Line {
  s64 length;
  s64 stride;  // negative when summing from the end
  bool exclusive;
};

template <class T>
void sum_line(const Line& line, const T* src, T* dst) {
  Wide<T> sum{};
  for (s64 i = 0; i < line.length; ++i, src += line.stride, dst += line.stride) {
    const Wide<T> with = wrapping_add(sum, static_cast<Wide<T>>(*src));
    *dst = narrow<T>(line.exclusive ? sum : with);
    sum = with;
  }
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const int axis = normalize_axis(read_ints(eval, 1)[0], shape.rank());
  if (shape.elements() == 0) return;
  const bool reverse = eval.node.attrs.i("reverse", 0) != 0;
  const s64 inner = dims_product(shape, axis + 1, shape.rank());
  const s64 outer = dims_product(shape, 0, axis);
  const Line line{shape[axis], reverse ? -inner : inner, eval.node.attrs.i("exclusive", 0) != 0};
  const s64 first = reverse ? (shape[axis] - 1) * inner : 0;
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    const T* src = eval.inputs[0].as<T>().data();
    T* dst = eval.outputs[0].as<T>().data();
    for (s64 i = 0; i < outer * inner; ++i) {
      const s64 at = i / inner * inner * line.length + i % inner + first;
      sum_line(line, src + at, dst + at);
    }
  });
}

}  // namespace

extern constinit const OpDef kCumSum{.name = "CumSum",
                                     .domain = "",
                                     .inputs = {2, 2},
                                     .outputs = {1, 1},
                                     .infer = infer,
                                     .eval = eval};
}  // namespace octet
