// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/engine/border.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensorrt/shared/block_format.h"

namespace octet_trt {
namespace {

BlockLayout layout_of(const BindingInfo& binding, const octet::Shape& shape) {
  return block_layout(binding.format, shape.dims());
}

int8_t code_of(float value, float scale) {
  const float rounded = std::nearbyint(value / scale);
  return std::isnan(rounded) ? int8_t{0}
                             : static_cast<int8_t>(std::clamp(rounded, -128.0F, 127.0F));
}

}  // namespace

bool is_direct(const BindingInfo& binding) {
  return binding.scale == 0 && binding.format == TensorFormat::kLINEAR;
}

int64_t client_bytes(const BindingInfo& binding, const octet::Shape& shape) {
  return layout_of(binding, shape).elements() * static_cast<int64_t>(bytes_of(binding.type));
}

octet::Tensor read_client(const BindingInfo& binding, const octet::TensorType& type,
                          const void* memory) {
  octet::Tensor tensor(type.dtype, type.shape);
  const BlockLayout layout = layout_of(binding, type.shape);
  const auto* from = static_cast<const std::byte*>(memory);
  if (binding.scale != 0) {
    auto to = tensor.mutable_as<float>();
    const auto* codes = reinterpret_cast<const int8_t*>(from);
    for_each_place(layout, [&](int64_t at, int64_t place) {
      to[static_cast<size_t>(at)] = static_cast<float>(codes[place]) * binding.scale;
    });
    return tensor;
  }
  const auto bytes = static_cast<int64_t>(octet::dtype_bytes(type.dtype));
  for_each_place(layout, [&](int64_t at, int64_t place) {
    std::memcpy(tensor.mutable_data() + at * bytes, from + place * bytes,
                static_cast<size_t>(bytes));
  });
  return tensor;
}

void write_client(const BindingInfo& binding, const octet::Tensor& tensor, void* memory) {
  const BlockLayout layout = layout_of(binding, tensor.shape());
  auto* to = static_cast<std::byte*>(memory);
  if (!is_direct(binding)) {
    std::memset(memory, 0, static_cast<size_t>(client_bytes(binding, tensor.shape())));
  }
  if (binding.scale != 0) {
    const auto from = tensor.as<float>();
    auto* codes = reinterpret_cast<int8_t*>(to);
    for_each_place(layout, [&](int64_t at, int64_t place) {
      codes[place] = code_of(from[static_cast<size_t>(at)], binding.scale);
    });
    return;
  }
  const auto bytes = static_cast<int64_t>(octet::dtype_bytes(tensor.dtype()));
  for_each_place(layout, [&](int64_t at, int64_t place) {
    std::memcpy(to + place * bytes, tensor.data() + at * bytes, static_cast<size_t>(bytes));
  });
}

}  // namespace octet_trt
