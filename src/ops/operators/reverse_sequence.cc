// SPDX-License-Identifier: Apache-2.0
// ReverseSequence(x, lengths): in each batch entry the first `length` elements of the time axis change their order.
#include <cstring>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

struct ReverseSequenceAttributes {
  s64 time_axis = 0;
  s64 batch_axis = 1;

  OCTET_ATTRIBUTES(time_axis, batch_axis)
};

// Of the first two axes, which is time.
int time_axis(const Node& node) {
  const auto [time, batch] = attributes_of<ReverseSequenceAttributes>(node);
  if (time + batch == 1 && (time == 0 || time == 1)) return static_cast<int>(time);
  fail(Error::Code::invalid_model, "attributes 'time_axis' and 'batch_axis' are {} and {}", time,
       batch);
}

void infer(Inference& inference) {
  const int time = time_axis(inference.node);
  const Shape& x = inference.inputs[0].shape;
  require_dtype(inference, 1, DtypeClass::index);
  if (x.rank() < 2 || inference.inputs[1].shape != Shape{x[1 - time]}) {
    fail(Error::Code::invalid_model, "the input is {} and the lengths are {}; they do not fit",
         to_string(x), to_string(inference.inputs[1]));
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  if (shape.elements() == 0) return;
  const int time = time_axis(eval.node);
  const std::vector<s64> lengths = read_ints(eval, 1);
  const size_t bytes =
      static_cast<size_t>(dims_product(shape, 2, shape.rank())) * dtype_bytes(eval.inputs[0].dtype);
  const auto* src = static_cast<const std::byte*>(eval.inputs[0].data);
  auto* dst = static_cast<std::byte*>(eval.outputs[0].data);
  for (s64 cell = 0; cell < shape[0] * shape[1]; ++cell) {
    const s64 t = time == 0 ? cell / shape[1] : cell % shape[1];
    const s64 b = time == 0 ? cell % shape[1] : cell / shape[1];
    const s64 length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > shape[time]) {
      fail(Error::Code::invalid_argument, "a sequence has length {}, expected 0 to {}", length,
           shape[time]);
    }
    const s64 from = t < length ? length - 1 - t : t;
    const s64 at = time == 0 ? from * shape[1] + b : b * shape[1] + from;
    std::memcpy(dst + static_cast<size_t>(cell) * bytes, src + static_cast<size_t>(at) * bytes,
                bytes);
  }
}

}  // namespace

extern constinit const OpDef kReverseSequence{
    .name = "ReverseSequence", .inputs = {2, 2}, .infer = infer, .eval = eval};
}  // namespace octet
