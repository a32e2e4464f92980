// SPDX-License-Identifier: Apache-2.0
// The loops of elementwise operators; an operator's file adds its one expression. Private to src/ops.
#pragma once

#include <span>

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/strided.h"

namespace octet {

// Inference of two-input (or variadic) operators: equal dtypes, broadcast shapes; output 0 in the inputs' dtype or `bool`.
void infer_broadcast(Inference& inference);
void infer_numeric_broadcast(Inference& inference);  // and no bool
void infer_compare(Inference& inference);            // numbers -> bool
void infer_logic(Inference& inference);              // bools -> bool
// Inference of unary operators.
void infer_numeric(Inference& inference);
void infer_real(Inference& inference);
// Drops the `consumed_inputs` hint of opset 1.
void drop_consumed_inputs(NodeParser& parser);
// Opsets before 7 broadcast by the attributes `broadcast` and `axis`; this makes input 1 follow numpy's rule.
void parse_legacy_broadcast(NodeParser& parser);

struct BinaryRow {
  s64 length;
  s64 step_a;  // 0 or 1
  s64 step_b;
};

// dst[i] = f(a[i * step_a], b[i * step_b]) as loops that vectorize.
template <class Out, class In, class F>
void binary_row(const BinaryRow& row, Out* dst, const In* a, const In* b, F f) {
  if (row.step_a == 1 && row.step_b == 1) {
    for (s64 i = 0; i < row.length; ++i) dst[i] = f(a[i], b[i]);
  } else if (row.step_a == 1) {
    const In value = *b;
    for (s64 i = 0; i < row.length; ++i) dst[i] = f(a[i], value);
  } else if (row.step_b == 1) {
    const In value = *a;
    for (s64 i = 0; i < row.length; ++i) dst[i] = f(value, b[i]);
  } else {
    const Out value = f(*a, *b);
    for (s64 i = 0; i < row.length; ++i) dst[i] = value;
  }
}

// dst = f(a, b) with broadcasting, on raw elements. dst may be a.
template <class Out, class In, class F>
void broadcast_binary(const MutableView& dst, const ConstView& a, const ConstView& b, F f) {
  const Shape shapes[] = {a.shape, b.shape};
  const BroadcastRows rows(dst.shape, shapes);
  const BinaryRow row{rows.length(), rows.step(0), rows.step(1)};
  const In* pa = a.as<In>().data();
  const In* pb = b.as<In>().data();
  Out* out = dst.as<Out>().data();
  rows.for_each([&](s64 at, const BroadcastRows::Offsets& offsets) {
    binary_row(row, out + at, pa + offsets[0], pb + offsets[1], f);
  });
}

// f(x, y) on Wide<T>, for every numeric dtype.
template <class F>
void eval_binary(const Eval& eval, F f) {
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    broadcast_binary<T, T>(eval.outputs[0], eval.inputs[0], eval.inputs[1], [&](T a, T b) {
      return narrow<T>(f(static_cast<Wide<T>>(a), static_cast<Wide<T>>(b)));
    });
  });
}

// f(x, y) -> bool on Wide<T>, for every dtype.
template <class F>
void eval_compare(const Eval& eval, F f) {
  visit_dtype(eval.inputs[0].dtype, [&]<class T>() {
    broadcast_binary<bool, T>(eval.outputs[0], eval.inputs[0], eval.inputs[1], [&](T a, T b) {
      return f(static_cast<Wide<T>>(a), static_cast<Wide<T>>(b));
    });
  });
}

template <class F>
void eval_logic(const Eval& eval, F f) {
  broadcast_binary<bool, bool>(eval.outputs[0], eval.inputs[0], eval.inputs[1], f);
}

// Folds f over any number of broadcast inputs.
template <class F>
void eval_variadic(const Eval& eval, F f) {
  const MutableView& dst = eval.outputs[0];
  const ConstView self{dst.dtype, dst.shape, dst.data};
  visit_number(dst.dtype, [&]<class T>() {
    auto op = [&](T a, T b) {
      return narrow<T>(f(static_cast<Wide<T>>(a), static_cast<Wide<T>>(b)));
    };
    broadcast_binary<T, T>(dst, eval.inputs[0], eval.inputs[0], [](T a, T) { return a; });
    for (size_t i = 1; i < eval.inputs.size(); ++i) {
      broadcast_binary<T, T>(dst, self, eval.inputs[i], op);
    }
  });
}

template <class F>
void eval_unary(const Eval& eval, F f) {
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    const auto src = eval.inputs[0].as<T>();
    const auto dst = eval.outputs[0].as<T>();
    for (size_t i = 0; i < dst.size(); ++i) dst[i] = narrow<T>(f(static_cast<Wide<T>>(src[i])));
  });
}

// f on f32 or f64.
template <class F>
void eval_unary_real(const Eval& eval, F f) {
  visit_real(eval.outputs[0].dtype, [&]<class T>() {
    const auto src = eval.inputs[0].as<T>();
    const auto dst = eval.outputs[0].as<T>();
    for (size_t i = 0; i < dst.size(); ++i) dst[i] = narrow<T>(f(static_cast<Wide<T>>(src[i])));
  });
}

}  // namespace octet
