// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/window.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/divide.h"
#include "ops/attributes/window.h"

namespace octet {
namespace {

constexpr s64 kLimit = std::numeric_limits<s32>::max();

// Output size and padding of "SAME": the output has ceil(in / stride) elements.
void resolve_same(WindowAxis& axis, bool upper) {
  axis.out = ceil_div(axis.in, axis.stride);
  const s64 total = std::max<s64>((axis.out - 1) * axis.stride + axis.extent() - axis.in, 0);
  axis.pad_begin = upper ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

void resolve_explicit(WindowAxis& axis, bool ceil_mode) {
  const s64 room = axis.in + axis.pad_begin + axis.pad_end - axis.extent();
  if (room < 0) {
    fail(Error::Code::invalid_model,
         "kernel {} with dilation {} covers {} elements, but the padded input has only {}",
         axis.kernel, axis.dilation, axis.extent(), axis.in + axis.pad_begin + axis.pad_end);
  }
  axis.out = (ceil_mode ? ceil_div(room, axis.stride) : room / axis.stride) + 1;
  // Rounding up must not add a window that starts in the padding behind the input.
  if (ceil_mode && (axis.out - 1) * axis.stride >= axis.in + axis.pad_begin) --axis.out;
}

void check_sizes(const Shape& input, std::span<const s64> kernel) {
  const int rank = input.rank() - 2;
  if (rank < 1) {
    fail(Error::Code::invalid_model,
         "input {} has no spatial dimensions; expected [N, C, spatial...]", to_string(input));
  }
  if (rank > 3) {
    fail(Error::Code::unsupported, "input {} has {} spatial dimensions; at most 3 are supported",
         to_string(input), rank);
  }
  if (static_cast<int>(kernel.size()) != rank) {
    fail(Error::Code::invalid_model, "the kernel has {} spatial dimensions, the input {} has {}",
         kernel.size(), to_string(input), rank);
  }
  for (s64 size : kernel) {
    if (size < 1 || size > kLimit) {
      fail(Error::Code::invalid_model, "kernel size {} is not in [1, {}]", size, kLimit);
    }
  }
  for (s64 dim : input) {
    if (dim > kLimit) {
      fail(Error::Code::unsupported, "input {} has a dimension above {}", to_string(input), kLimit);
    }
  }
}

}  // namespace

std::vector<s64> window_values(std::string_view name, const std::optional<std::vector<s64>>& given,
                               const WindowList& list) {
  std::vector<s64> values = given.value_or(std::vector<s64>(list.count, list.otherwise));
  if (values.size() != list.count) {
    fail(Error::Code::invalid_model, "attribute '{}' has {} values, expected {}", name,
         values.size(), list.count);
  }
  for (s64 value : values) {
    if (value < list.min || value > kLimit) {
      fail(Error::Code::invalid_model, "attribute '{}' holds {}, expected a value in [{}, {}]",
           name, value, list.min, kLimit);
    }
  }
  return values;
}

Window window_of(const WindowAttributes& attributes, const Shape& input,
                 std::span<const s64> kernel, bool ceil_mode) {
  check_sizes(input, kernel);
  const size_t rank = kernel.size();
  const AutoPad mode = attributes.auto_pad;
  const auto strides = window_values("strides", attributes.strides, {rank, 1, 1});
  const auto dilations = window_values("dilations", attributes.dilations, {rank, 1, 1});
  const auto pads = mode == AutoPad::notset
                        ? window_values("pads", attributes.pads, {2 * rank, 0, 0})
                        : std::vector<s64>(2 * rank, 0);
  Window window;
  window.rank = static_cast<int>(rank);
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = window.axes[3 - rank + i];
    axis = {.in = input[static_cast<int>(i) + 2],
            .out = 0,
            .kernel = kernel[i],
            .stride = strides[i],
            .dilation = dilations[i],
            .pad_begin = pads[i],
            .pad_end = pads[rank + i]};
    if (mode == AutoPad::same_upper || mode == AutoPad::same_lower) {
      resolve_same(axis, mode == AutoPad::same_upper);
    } else {
      resolve_explicit(axis, ceil_mode);
    }
  }
  return window;
}

Shape Window::output_shape(s64 batch, s64 channels) const {
  Shape shape{batch, channels};
  for (int i = 3 - rank; i < 3; ++i) shape.push_back(axes[static_cast<size_t>(i)].out);
  return shape;
}

TapRange taps_inside(const WindowAxis& axis, s64 o) {
  const s64 start = o * axis.stride - axis.pad_begin;
  const s64 first = start >= 0 ? 0 : ceil_div(-start, axis.dilation);
  const s64 last = start >= axis.in ? 0 : ceil_div(axis.in - start, axis.dilation);
  return {std::min(first, axis.kernel), std::min(last, axis.kernel)};
}

}  // namespace octet
