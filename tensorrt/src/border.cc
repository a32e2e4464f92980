// SPDX-License-Identifier: Apache-2.0
#include "border.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine.h"

namespace octet_trt {
namespace {

// How elements of NxCx(rest) lie in a client's memory: blocks of `block` channels, the channel fastest within a block.
struct Layout {
  int64_t batch = 1, channels = 1, inner = 1, block = 1, blocks = 1;

  int64_t elements() const { return batch * blocks * block * inner; }
  int64_t place(int64_t n, int64_t c, int64_t i) const {
    return ((n * blocks + c / block) * inner + i) * block + c % block;
  }
};

Layout layout_of(const BindingInfo& binding, const octet::Shape& shape) {
  Layout layout;
  if (binding.format == TensorFormat::kLINEAR || shape.rank() < 3) {
    layout.inner = shape.elements();
    return layout;
  }
  const int channel = shape.rank() - 3;
  for (int i = 0; i < channel; ++i) layout.batch *= shape[i];
  layout.channels = shape[channel];
  layout.inner = shape[channel + 1] * shape[channel + 2];
  layout.block = binding.format == TensorFormat::kHWC ? std::max<int64_t>(1, layout.channels)
                                                      : components_per_element(binding);
  layout.blocks = (layout.channels + layout.block - 1) / layout.block;
  return layout;
}

// Calls visit(index in the tensor, index in the client's memory) for every element.
template <class Visit>
void for_each_place(const Layout& layout, const Visit& visit) {
  int64_t at = 0;
  for (int64_t n = 0; n < layout.batch; ++n)
    for (int64_t c = 0; c < layout.channels; ++c)
      for (int64_t i = 0; i < layout.inner; ++i) visit(at++, layout.place(n, c, i));
}

int8_t code_of(float value, float scale) {
  const float rounded = std::nearbyint(value / scale);
  return static_cast<int8_t>(std::clamp(rounded, -128.0F, 127.0F));
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
  const Layout layout = layout_of(binding, type.shape);
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
  const Layout layout = layout_of(binding, tensor.shape());
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
