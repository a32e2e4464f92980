// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/window.h"

namespace octet::cuda {

AxisStrides axis_strides(const Shape& shape, const Placement& placement) {
  const std::vector<s64> strides = strides_of(shape, placement);
  AxisStrides all{strides[0], strides[1], 0, 0, 0};
  for (size_t i = 2; i < strides.size(); ++i) all[5 - strides.size() + i] = strides[i];
  return all;
}

void set_axes(KernelSource& source, const std::string& prefix, const AxisStrides& strides) {
  for (size_t i = 0; i < strides.size(); ++i) source.set(prefix + '_' + "NCDHW"[i], strides[i]);
}

void set_spatial_window(KernelSource& source, const Window& window, bool transposed) {
  source.set("TRANSPOSED", s64{transposed});
  for (size_t i = 0; i < 3; ++i) {
    const WindowAxis& axis = window.axes[i];
    const auto set = [&](const char* name, s64 value) {
      source.set(std::string(name) + '_' + "DHW"[i], value);
    };
    set("IN", axis.in), set("OUT", axis.out), set("KERNEL", axis.kernel);
    set("STRIDE", axis.stride), set("DIL", axis.dilation), set("PAD", axis.pad_begin);
  }
}

}  // namespace octet::cuda
