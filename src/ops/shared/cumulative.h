// SPDX-License-Identifier: Apache-2.0
// What CumSum and CumProd share: f(x, axis) {exclusive, reverse} along one axis, one element after another.
#pragma once

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {

void infer_cumulative(Inference& inference);

struct CumulativeLines {
  s64 count = 0;   // how many lines
  s64 length = 0;  // of each
  s64 stride = 0;  // negative when going from the end
  s64 inner = 1;
  s64 first = 0;
  bool exclusive = false;

  s64 start(s64 line) const { return line / inner * inner * length + line % inner + first; }
};
CumulativeLines cumulative_lines(const Eval& eval);

template <class T, class F>
void accumulate(const CumulativeLines& lines, const T* src, T* dst, Wide<T> value, F f) {
  for (s64 i = 0; i < lines.length; ++i, src += lines.stride, dst += lines.stride) {
    const Wide<T> with = f(value, static_cast<Wide<T>>(*src));
    *dst = narrow<T>(lines.exclusive ? value : with);
    value = with;
  }
}

// f(so far, element), beginning with `start`.
template <class F>
void eval_cumulative(const Eval& eval, int start, F f) {
  const CumulativeLines lines = cumulative_lines(eval);
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    const T* src = eval.inputs[0].as<T>().data();
    T* dst = eval.outputs[0].as<T>().data();
    for (s64 i = 0; i < lines.count; ++i) {
      const s64 at = lines.start(i);
      accumulate<T>(lines, src + at, dst + at, static_cast<Wide<T>>(start), f);
    }
  });
}

}  // namespace octet
