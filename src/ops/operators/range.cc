// SPDX-License-Identifier: Apache-2.0
// Range(start, limit, delta): start, start + delta, ... below (or above) the limit. The three scalars fix the output's
// shape.
#include <cmath>

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/open_dims.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

template <class T>
s64 integer_count(T start, T limit, T delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  // Unsigned: the distance of two s64 may pass 63 bits, and the lowest delta has no positive.
  const u64 from = static_cast<u64>(delta > 0 ? start : limit);
  const u64 to = static_cast<u64>(delta > 0 ? limit : start);
  const u64 step = delta > 0 ? static_cast<u64>(delta) : u64{0} - static_cast<u64>(delta);
  const u64 count = (to - from - 1) / step + 1;
  if (count > static_cast<u64>(std::numeric_limits<s64>::max())) {
    fail(kInvalid, "the range has {} elements", count);
  }
  return static_cast<s64>(count);
}

template <class T>
s64 count_of(const Inference& inference) {
  using W = Wide<T>;
  const W start = static_cast<W>(inference.value(0)->as<T>()[0]);
  const W limit = static_cast<W>(inference.value(1)->as<T>()[0]);
  const W delta = static_cast<W>(inference.value(2)->as<T>()[0]);
  if (delta == 0) fail(kInvalid, "the delta of the range is 0");
  if constexpr (std::is_integral_v<W>) {
    return integer_count(start, limit, delta);
  } else {
    const f64 count =
        std::ceil((static_cast<f64>(limit) - static_cast<f64>(start)) / static_cast<f64>(delta));
    if (!(count < 0x1p62)) {
      fail(kInvalid, "the range from {} to {} by {} has no finite size", start, limit, delta);
    }
    return count > 0 ? static_cast<s64>(count) : 0;
  }
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  require_same_dtypes(inference);
  for (size_t i = 0; i < 3; ++i) {
    if (inference.inputs[i].shape.elements() != 1) {
      fail(kInvalid, "input {} is {}, expected a scalar", i, to_string(inference.inputs[i]));
    }
    if (dims_are_open(inference, i)) {
      inference.output(inference.inputs[0].dtype, open_shape(1));
      return;
    }
    if (inference.value(i) == nullptr) {
      Inference::needs_data(i, fmt::format("input {}", i));
    }
  }
  s64 count = 0;
  visit_number(inference.inputs[0].dtype, [&]<class T>() { count = count_of<T>(inference); });
  inference.output(inference.inputs[0].dtype, Shape{count});
}

void eval(const Eval& eval) {
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    using W = Wide<T>;
    const auto dst = eval.outputs[0].as<T>();
    const W start = static_cast<W>(eval.inputs[0].as<T>()[0]);
    const W delta = static_cast<W>(eval.inputs[2].as<T>()[0]);
    for (size_t i = 0; i < dst.size(); ++i) {
      dst[i] = narrow<T>(wrapping_add(start, wrapping_mul(static_cast<W>(i), delta)));
    }
  });
}

}  // namespace

extern constinit const OpDef kRange{
    .name = "Range", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
