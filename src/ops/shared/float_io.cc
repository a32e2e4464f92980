// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/float_io.h"

#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {

FloatInput::FloatInput(const ConstView& view) { read(view); }

FloatInput::FloatInput(const Eval& eval, size_t i) {
  if (eval.has_input(i)) read(eval.inputs[i]);
}

void FloatInput::read(const ConstView& view) {
  present_ = true;
  if (view.dtype == Dtype::f32) {
    values_ = view.as<f32>();
    return;
  }
  visit_real(view.dtype, [&]<class T>() {
    for (T value : view.as<T>()) copy_.push_back(static_cast<f32>(value));
  });
  values_ = copy_;
}

FloatOutput::FloatOutput(const MutableView& view) : view_(view) {
  if (view.dtype == Dtype::f32) {
    values_ = view.as<f32>();
    return;
  }
  copy_.resize(static_cast<size_t>(view.shape.elements()));
  values_ = copy_;
}

void FloatOutput::store() const {
  if (view_.dtype == Dtype::f32) return;
  visit_real(view_.dtype, [&]<class T>() {
    const auto dst = view_.as<T>();
    for (size_t i = 0; i < dst.size(); ++i) dst[i] = static_cast<T>(copy_[i]);
  });
}

void infer_elementwise_float(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  inference.same_as_input(0);
}

}  // namespace octet
