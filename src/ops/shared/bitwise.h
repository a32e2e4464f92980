// SPDX-License-Identifier: Apache-2.0
// Elementwise operators on the bits of integers. Private to src/ops.
#pragma once

#include <type_traits>

#include "ops/shared/elementwise.h"

namespace octet {

// Throws Error(invalid_model) unless input 0 is of an integer type.
void require_integers(const Inference& inference);
void infer_bitwise(Inference& inference);  // two broadcast inputs of one integer type

// f(a, b) on the unsigned type of the elements' width.
template <class F>
void eval_bitwise(const Eval& eval, F f) {
  visit_size(eval.outputs[0].dtype, [&]<class U>() {
    visit_dtype(eval.outputs[0].dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) == sizeof(U)) {
        broadcast_binary<T, T>(eval.outputs[0], eval.inputs[0], eval.inputs[1], [&](T a, T b) {
          return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
        });
      }
    });
  });
}

}  // namespace octet
