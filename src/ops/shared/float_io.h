// SPDX-License-Identifier: Apache-2.0
// Float operators compute in f32: these read any float tensor as f32 (without a copy where it is one) and write it back.
#pragma once

#include <span>
#include <vector>

#include "core/types.h"
#include "graph/op_def.h"

namespace octet {

class FloatInput {
 public:
  explicit FloatInput(const ConstView& view);
  // Input i of an evaluation; empty when omitted.
  FloatInput(const Eval& eval, size_t i);
  FloatInput(const FloatInput&) = delete;
  FloatInput& operator=(const FloatInput&) = delete;

  explicit operator bool() const { return present_; }
  std::span<const f32> values() const { return values_; }
  f32 operator[](s64 i) const { return values_[static_cast<size_t>(i)]; }
  const f32* data() const { return values_.data(); }

 private:
  void read(const ConstView& view);
  std::vector<f32> copy_;
  std::span<const f32> values_;
  bool present_ = false;
};

// Rounds to the tensor's type when store() is called.
class FloatOutput {
 public:
  explicit FloatOutput(const MutableView& view);
  FloatOutput(const FloatOutput&) = delete;
  FloatOutput& operator=(const FloatOutput&) = delete;

  std::span<f32> values() const { return values_; }
  f32& operator[](s64 i) const { return values_[static_cast<size_t>(i)]; }
  f32* data() const { return values_.data(); }
  void store() const;

 private:
  MutableView view_;
  std::vector<f32> copy_;
  std::span<f32> values_;
};

// dst[i] = f(src[i]) in f32, for any float dtype.
template <class F>
void eval_elementwise(const Eval& eval, const F& f) {
  const FloatInput src(eval.inputs[0]);
  FloatOutput dst(eval.outputs[0]);
  const auto x = src.values();
  const auto y = dst.values();
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
  dst.store();
}

// Infer of unary float operators: a float input, and the output has its type.
void infer_elementwise_float(Inference& inference);

}  // namespace octet
