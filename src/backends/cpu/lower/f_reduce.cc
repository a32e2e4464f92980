// SPDX-License-Identifier: Apache-2.0
// f32 ReduceMean and ReduceSum over the last axes of a dense tensor, or over the pixels of an nhwc image (what global
// average pooling becomes).
#include <algorithm>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;
constexpr s64 kChannelBlock = 16;

struct RowSums {
  void (*function)(const RowArgs*);
  s64 rows, count;
  bool mean;

  void operator()(const StepArgs& step) const noexcept {
    const f32* src = f32_input(step, 0);
    f32* dst = f32_output(step, 0);
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 row = begin; row < end; ++row) {
        const RowArgs args{src + row * count, dst + row, count, nullptr, nullptr, 0.0f};
        function(&args);
        if (mean) dst[row] /= static_cast<f32>(count);
      }
    };
    if (rows * count < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

struct PixelSums {
  void (*function)(const ColumnArgs*);
  Shape shape;
  std::vector<s64> src_strides;
  s64 dst_image_stride;
  f32 divisor;

  // Rows of an image may lie apart; only a dense image is one list of pixels.
  void operator()(const StepArgs& step) const noexcept {
    const s64 channels = shape[1], blocks = (channels + kChannelBlock - 1) / kChannelBlock;
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item) {
        const s64 image = item / blocks, first = item % blocks * kChannelBlock;
        const ColumnArgs args{f32_input(step, 0) + image * src_strides[0] + first,
                              f32_output(step, 0) + image * dst_image_stride + first,
                              std::min(kChannelBlock, channels - first),
                              shape[2] * shape[3],
                              src_strides[3],
                              nullptr,
                              divisor};
        function(&args);
      }
    };
    const s64 items = shape[0] * blocks;
    if (shape[0] * channels * shape[2] * shape[3] < kSerial) return body(0, items, 0);
    pool_of(step).parallel_for(items, body);
  }
};

// The reduced axes in ascending order.
std::vector<int> reduced_axes(const LowerRequest& request) {
  const Tensor* given = request.constant(1);
  std::vector<int> axes;
  if (given != nullptr) axes = normalize_axes(given->as<s64>(), request.inputs[0].shape.rank());
  if (axes.empty()) {
    for (int i = 0; i < request.inputs[0].shape.rank(); ++i) axes.push_back(i);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool are_last(const std::vector<int>& axes, int rank) {
  return axes.empty() || axes.front() == rank - static_cast<int>(axes.size());
}

std::string reject(const LowerRequest& request) {
  if (isa_of(request.target) == Isa::none) return "the instruction set is capped below AVX2";
  if (request.inputs[0].dtype != Dtype::f32) return "the input is not f32";
  if (request.has_input(1) &&
      (request.constant(1) == nullptr || request.constant(1)->dtype() != Dtype::s64)) {
    return "the axes are not constant";
  }
  const bool none = !request.has_input(1) || request.constant(1)->elements() == 0;
  if (none && request.node.attrs.i("noop_with_empty_axes", 0) != 0) return "no axis is reduced";
  return {};
}

Candidate pixel_candidate(const LowerRequest& request, bool mean) {
  const Shape& shape = request.inputs[0].shape;
  Candidate candidate;
  candidate.kernel = kernel_name("f32", "pixel_sum", isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.inputs[0] = Layout::nhwc;
  // An image of one pixel is the same bytes in both layouts; nhwc is what convolutions after it read.
  candidate.outputs = {request.outputs[0].shape.rank() == 4 ? Layout::nhwc : Layout::linear};
  const f32 divisor = mean ? static_cast<f32>(shape[2] * shape[3]) : 1.0f;
  candidate.bind = [function = kernel_for(kColumnSumF32, isa_of(request.target)), shape,
                    divisor](const BindArgs& bind) -> RunStep {
    return PixelSums{function, shape, value_strides(shape, bind.inputs[0]), shape[1], divisor};
  };
  return candidate;
}

}  // namespace

Offer lower_f_reduce(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const bool mean = request.node.op->name == "ReduceMean";
  const Shape& shape = request.inputs[0].shape;
  const std::vector<int> axes = reduced_axes(request);
  const bool pixels = shape.rank() == 4 && axes == std::vector<int>{2, 3};
  if (pixels && request.layouts[0] == Layout::nhwc) return pixel_candidate(request, mean);
  if (!are_last(axes, shape.rank())) return Reject{"the reduced axes are not the last ones"};

  const s64 rows = request.outputs[0].shape.elements();
  const s64 count = dims_product(shape, shape.rank() - static_cast<int>(axes.size()), shape.rank());
  Candidate candidate;
  candidate.kernel = kernel_name("f32", kRowSumF32.name, isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.bind = [step = RowSums{kernel_for(kRowSumF32, isa_of(request.target)), rows, count,
                                   mean}](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
