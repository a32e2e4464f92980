// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/f_common.h"

#include <algorithm>

namespace octet {

bool all_f32(const LowerRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.has_input(i) && request.inputs[i].dtype != Dtype::f32) return false;
  }
  for (const TensorType& type : request.outputs) {
    if (type.dtype != Dtype::f32) return false;
  }
  return true;
}

bool scalar_constant(const LowerRequest& request, size_t i, f32 otherwise, f32& value) {
  value = otherwise;
  if (!request.has_input(i)) return true;
  const Tensor* constant = request.constant(i);
  if (constant == nullptr || constant->dtype() != Dtype::f32 || constant->elements() != 1)
    return false;
  value = constant->as<f32>()[0];
  return true;
}

Tensor in_layout(const Tensor& tensor, Layout layout) {
  const Shape& shape = tensor.shape();
  if (layout == Layout::linear || shape.rank() != 4) return tensor;
  Tensor packed(Dtype::f32, shape);
  const f32* src = tensor.as<f32>().data();
  f32* dst = packed.mutable_as<f32>().data();
  const s64 channels = shape[1], pixels = shape[2] * shape[3];
  for (s64 n = 0; n < shape[0]; ++n) {
    for (s64 c = 0; c < channels; ++c) {
      for (s64 p = 0; p < pixels; ++p) {
        dst[(n * pixels + p) * channels + c] = src[(n * channels + c) * pixels + p];
      }
    }
  }
  return packed;
}

Tensor prepared_tensor(const BindArgs& bind, size_t i) {
  const std::shared_ptr<const Tensor> tensor = bind.prepared_as<Tensor>(i);
  return {tensor->type(), std::shared_ptr<const std::byte>(tensor, tensor->data())};
}

std::string float_reject(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty()) return reason;
  return all_f32(request) ? "" : "an operand is not f32";
}

std::string dnnl_reject(const LowerRequest& request) {
  if (!isa_of(request.target).has(Isa::avx2)) return "the instruction set has no AVX2";
  return float_reject(request);
}

std::string image_conv_reject(const LowerRequest& request) {
  if (request.inputs[0].shape.rank() != 4) return "the input is not an image";
  if (request.constant(1) == nullptr) return "the weights are not constant";
  if (request.has_input(2) && request.constant(2) == nullptr) return "the bias is not constant";
  if (request.has_input(3)) return "a residual is added";
  if (request.outputs[0].shape.elements() == 0) return "the output is empty";
  return {};
}

std::string span_reject(const Window& window) {
  constexpr s64 kMostTimes = 4, kSmall = 64;
  const auto is_wide = [](const WindowAxis& axis) {
    return axis.extent() > kMostTimes * (axis.in + axis.out) + kSmall;
  };
  return std::ranges::any_of(window.axes, is_wide) ? "its windows lie mostly in padding" : "";
}

}  // namespace octet
