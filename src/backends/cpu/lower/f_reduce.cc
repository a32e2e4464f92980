// SPDX-License-Identifier: Apache-2.0
// f32 sums, means, sums of squares and their roots over neighbouring axes of a dense tensor, or over the pixels of an nhwc image (what
// global average pooling becomes).
#include <algorithm>
#include <cmath>
#include <string_view>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;
constexpr s64 kChannelBlock = 16;

constexpr f32 kZeros[kChannelBlock] = {};  // squares are those of the distance from a mean

// What becomes of a sum.
struct Reduction {
  bool squares = false;  // of squares
  bool mean = false;
  bool root = false;

  explicit Reduction(std::string_view op)
      : squares(op == "ReduceL2" || op == "ReduceSumSquare"),
        mean(op == "ReduceMean"),
        root(op == "ReduceL2") {}

  void take_roots(f32* values, s64 count) const noexcept {
    if (!root) return;
    for (s64 i = 0; i < count; ++i) values[i] = std::sqrt(values[i]);
  }
};

struct RowSums {
  void (*function)(const RowArgs*);
  s64 rows, count;
  Reduction reduction;

  void operator()(const StepArgs& step) const noexcept {
    const f32* src = f32_input(step, 0);
    f32* dst = f32_output(step, 0);
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 row = begin; row < end; ++row) {
        const RowArgs args{src + row * count, dst + row, count, nullptr, nullptr, 0.0f};
        function(&args);
        if (reduction.mean) dst[row] /= static_cast<f32>(count);
      }
      reduction.take_roots(dst + begin, end - begin);
    };
    if (rows * count < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

// Of each of `images` and of their channels, the sum over pixels.
struct PixelSums {
  void (*function)(const ColumnArgs*);
  Reduction reduction;
  s64 images, channels, pixels;
  s64 image_stride, pixel_stride;

  // Rows of an image may lie apart; only a dense image is one list of pixels.
  void operator()(const StepArgs& step) const noexcept {
    const s64 blocks = (channels + kChannelBlock - 1) / kChannelBlock;
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item) {
        const s64 image = item / blocks, first = item % blocks * kChannelBlock;
        const ColumnArgs args{f32_input(step, 0) + image * image_stride + first,
                              f32_output(step, 0) + image * channels + first,
                              std::min(kChannelBlock, channels - first),
                              pixels,
                              pixel_stride,
                              reduction.squares ? kZeros : nullptr,
                              reduction.mean ? static_cast<f32>(pixels) : 1.0f};
        function(&args);
        reduction.take_roots(args.dst, args.channels);
      }
    };
    const s64 items = images * blocks;
    if (images * channels * pixels < kSerial) return body(0, items, 0);
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

std::string reject(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty()) return reason;
  if (request.inputs[0].dtype != Dtype::f32) return "the input is not f32";
  if (request.has_input(1) &&
      (request.constant(1) == nullptr || request.constant(1)->dtype() != Dtype::s64)) {
    return "the axes are not constant";
  }
  const bool none = !request.has_input(1) || request.constant(1)->elements() == 0;
  if (none && attribute_of<&ReduceAttributes::noop_with_empty_axes>(request.node))
    return "no axis is reduced";
  return {};
}

Candidate candidate_of(const LowerRequest& request, const char* kernel) {
  Candidate candidate;
  candidate.kernel = kernel_name("f32", kernel, isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = {false, request.has_input(1)};
  return candidate;
}

Candidate pixel_candidate(const LowerRequest& request, const Reduction& reduction) {
  const Shape& shape = request.inputs[0].shape;
  Candidate candidate = candidate_of(request, "pixel_sum");
  candidate.inputs[0] = Layout::nhwc;
  // An image of one pixel is the same bytes in both layouts; nhwc is what convolutions after it read.
  if (request.outputs[0].shape.rank() == 4) candidate.outputs = {Layout::nhwc};
  candidate.bind = [function = kernel_for(kColumnSumF32, isa_of(request.target)), shape,
                    reduction](const BindArgs& bind) -> RunStep {
    const std::vector<s64> strides = value_strides(shape, bind.inputs[0]);
    return PixelSums{function,   reduction, shape[0], shape[1], shape[2] * shape[3],
                     strides[0], strides[3]};
  };
  return candidate;
}

}  // namespace

Offer lower_f_reduce(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Reduction reduction(request.node.op->name);
  const Isa isa = isa_of(request.target);
  const Shape& shape = request.inputs[0].shape;
  const std::vector<int> axes = reduced_axes(request);
  const bool pixels = shape.rank() == 4 && axes == std::vector<int>{2, 3};
  if (pixels && request.layouts[0] == Layout::nhwc) return pixel_candidate(request, reduction);
  const int first = axes.empty() ? 0 : axes.front();
  const int last = first + static_cast<int>(axes.size());
  if (!axes.empty() && axes.back() != last - 1)
    return Reject{"the reduced axes are not neighbours"};
  const s64 outer = dims_product(shape, 0, first), count = dims_product(shape, first, last);
  const s64 inner = dims_product(shape, last, shape.rank());
  if (inner != 1) {
    if (shape.elements() == 0) return Reject{"there is nothing to reduce"};
    Candidate candidate = candidate_of(request, kColumnSumF32.name);
    candidate.bind = [step = PixelSums{kernel_for(kColumnSumF32, isa), reduction, outer, inner,
                                       count, count * inner, inner}](const BindArgs&) -> RunStep {
      return step;
    };
    return candidate;
  }
  const FloatKernel<RowArgs>& kernel = reduction.squares ? kRowSquaresF32 : kRowSumF32;
  Candidate candidate = candidate_of(request, kernel.name);
  const s64 rows = request.outputs[0].shape.elements();
  candidate.bind = [step = RowSums{kernel_for(kernel, isa), rows, count, reduction}](
                       const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
