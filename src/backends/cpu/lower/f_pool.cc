// SPDX-License-Identifier: Apache-2.0
// f32 MaxPool and AveragePool of images in nhwc: the pixels of a row whose windows are whole at once, all channels of each. Of few channels, whose pixels fill
// no register, and means of [N,C,W], planes one by one: neighbours along a row stand in for channels.
#include <algorithm>
#include <limits>
#include <utility>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;
constexpr s64 kFewChannels = 8;

template <bool kLargest>
f32 with_tap(f32 value, f32 x) noexcept {
  if (!kLargest) return value + x;
  return x > value || (x != x && value == value) ? x : value;  // a NaN stays
}

// Of one channel whose neighbours are read with a stride: no vector holds them.
template <bool kLargest>
void pool_one_by_one(const PoolArgs& args) noexcept {
  const f32* src = static_cast<const f32*>(args.src);
  f32* dst = static_cast<f32*>(args.dst);
  for (s64 p = 0; p < args.pixels; ++p, src += args.src_step, dst += args.dst_step) {
    f32 value = kLargest ? -std::numeric_limits<f32>::infinity() : 0.0f;
    for (s64 row = 0; row < args.rows; ++row) {
      const f32* tap = src + row * args.row_stride;
      for (s64 column = 0; column < args.columns; ++column, tap += args.column_stride)
        value = with_tap<kLargest>(value, *tap);
    }
    *dst = kLargest ? value : args.divisor == 0.0f ? 0.0f : value / args.divisor;
  }
}

struct PoolStep {
  void (*function)(const PoolArgs*);
  PoolGeometry geometry;
  s64 planes = 1;                             // of an image, which are pooled one by one
  std::vector<s64> src_strides, dst_strides;  // image, channel, row, pixel
  bool halves = false;                        // are what is stored; else f32
  bool largest = false;                       // else means

  // Pixels [first, last) of a row, whose windows are as whole as the first one's.
  void pixels(const std::byte* src, std::byte* dst, s64 row, TapRange range) const noexcept {
    const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
    const TapRange rows = taps_inside(h, row), columns = taps_inside(w, range.first);
    const s64 top = row * h.stride - h.pad_begin + rows.first * h.dilation;
    const s64 left = range.first * w.stride - w.pad_begin + columns.first * w.dilation;
    const s64 count = range.last - range.first;
    const s64 bytes = element_bytes(halves);
    PoolArgs args{.src = src + (top * src_strides[2] + left * src_strides[3]) * bytes,
                  .dst = dst + (row * dst_strides[2] + range.first * dst_strides[3]) * bytes,
                  .pixels = count,
                  .src_step = w.stride * src_strides[3],
                  .dst_step = dst_strides[3],
                  .channels = geometry.channels / planes,
                  .rows = rows.last - rows.first,
                  .columns = columns.last - columns.first,
                  .row_stride = h.dilation * src_strides[2],
                  .column_stride = w.dilation * src_strides[3],
                  .divisor = static_cast<f32>(geometry.divisor(0, row, range.first)),
                  .halves = halves};
    if (args.channels == 1 && args.src_step != 1 && !halves)
      return largest ? pool_one_by_one<true>(args) : pool_one_by_one<false>(args);
    // Neighbours stand in for channels.
    if (args.channels == 1 && args.src_step == 1 && args.dst_step == 1)
      std::swap(args.pixels, args.channels);
    function(&args);
  }

  // Columns whose windows are whole.
  TapRange whole_columns() const noexcept {
    const WindowAxis& w = geometry.window.w();
    const s64 left = std::clamp<s64>((w.pad_begin + w.stride - 1) / w.stride, 0, w.out);
    const s64 end = w.in - w.extent() + w.pad_begin;
    return {left, end < 0 ? left : std::clamp(end / w.stride + 1, left, w.out)};
  }

  void row_of(const std::byte* src, std::byte* dst, s64 row, TapRange whole) const noexcept {
    for (s64 x = 0; x < whole.first; ++x) pixels(src, dst, row, {x, x + 1});
    if (whole.first < whole.last) pixels(src, dst, row, whole);
    for (s64 x = whole.last; x < geometry.window.w().out; ++x) pixels(src, dst, row, {x, x + 1});
  }

  void operator()(const StepArgs& step) const noexcept {
    const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
    const TapRange whole = whole_columns();
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item) {
        const s64 plane = item / h.out, image = plane / planes, channel = plane % planes;
        const s64 bytes = element_bytes(halves);
        row_of(step.inputs[0] + (image * src_strides[0] + channel * src_strides[1]) * bytes,
               step.outputs[0] + (image * dst_strides[0] + channel * dst_strides[1]) * bytes,
               item % h.out, whole);
      }
    };
    const s64 items = geometry.batch * planes * h.out;
    if (geometry.batch * h.out * w.out * geometry.channels < kSerial) return body(0, items, 0);
    pool_of(step).parallel_for(items, body);
  }
};

Shape as_image(const Shape& shape) {
  return shape.rank() == 3 ? Shape{shape[0], shape[1], 1, shape[2]} : shape;
}

}  // namespace

Offer lower_f_pool(const LowerRequest& request) {
  if (std::string reason = halves_reject(request); !reason.empty()) return Reject{reason};
  const bool halves = is_stored_half(request.inputs[0]);
  if (halves != is_stored_half(request.outputs[0]) ||
      (halves && request.node.op->name != "MaxPool"))
    return Reject{"an operand is not f32"};
  if (request.outputs.size() != 1) return Reject{"the indices are an output too"};
  const Shape &given = request.inputs[0].shape, in = as_image(given),
              out = as_image(request.outputs[0].shape);
  if (in.rank() != 4) return Reject{"only rows and images are pooled in f32"};
  if (given.rank() == 3 && request.node.op->name == "MaxPool")
    return Reject{"maxima of rows are f32_linear_max_pool's"};
  const FloatKernel<PoolArgs>& kernel =
      request.node.op->name == "MaxPool" ? kMaxPoolF32 : kAveragePoolF32;

  Candidate candidate;
  const bool planes =
      given.rank() == 3 || (request.layouts[0] == Layout::linear && in[1] < kFewChannels);
  const std::string name = kernel.name + std::string(planes ? "_planes" : "");
  candidate.kernel = kernel_name("f32", name, isa_of(request.target));
  const Layout layout = planes ? Layout::linear : Layout::nhwc;
  candidate.inputs = {layout};
  candidate.outputs = {layout};
  candidate.strided = given.rank() == 4;
  candidate.bind =
      [function = kernel_for(kernel, isa_of(request.target)), in, out, planes = planes ? in[1] : 1,
       halves, largest = request.node.op->name == "MaxPool",
       geometry = pool_geometry(request.node, given)](const BindArgs& bind) -> RunStep {
    return PoolStep{function,
                    geometry,
                    planes,
                    value_strides(in, bind.inputs[0]),
                    value_strides(out, bind.outputs[0]),
                    halves,
                    largest};
  };
  return candidate;
}

}  // namespace octet
