// SPDX-License-Identifier: Apache-2.0
// f32 MaxPool and AveragePool of images in nhwc: one output pixel at a time, all channels of it. Of few channels, whose pixels fill
// no register, planes one by one: neighbours along a row stand in for channels.
#include <algorithm>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;
constexpr s64 kFewChannels = 8;

struct PoolStep {
  void (*function)(const PoolArgs*);
  PoolGeometry geometry;
  s64 planes = 1;                             // of an image, which are pooled one by one
  std::vector<s64> src_strides, dst_strides;  // image, channel, row, pixel

  // `pixels` of a row whose windows are alike.
  void pixel(const f32* src, f32* dst, s64 row, s64 column, s64 pixels = 1) const noexcept {
    const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
    const TapRange rows = taps_inside(h, row), columns = taps_inside(w, column);
    const s64 top = row * h.stride - h.pad_begin + rows.first * h.dilation;
    const s64 left = column * w.stride - w.pad_begin + columns.first * w.dilation;
    const PoolArgs args{src + top * src_strides[2] + left * src_strides[3],
                        dst + row * dst_strides[2] + column * dst_strides[3],
                        geometry.channels / planes * pixels,
                        rows.last - rows.first,
                        columns.last - columns.first,
                        h.dilation * src_strides[2],
                        w.dilation * src_strides[3],
                        static_cast<f32>(geometry.divisor(0, row, column))};
    function(&args);
  }

  // Columns whose windows are whole, where they and their pixels lie side by side; else none.
  TapRange whole_columns() const noexcept {
    const WindowAxis& w = geometry.window.w();
    const bool adjacent =
        geometry.channels == planes && w.stride == 1 && src_strides[3] == 1 && dst_strides[3] == 1;
    const s64 first = w.pad_begin, last = w.in + w.pad_begin - (w.kernel - 1) * w.dilation;
    if (!adjacent || first < 0 || first >= last) return {0, 0};
    return {std::min(first, w.out), std::clamp(last, std::min(first, w.out), w.out)};
  }

  void row_of(const f32* src, f32* dst, s64 row, TapRange whole) const noexcept {
    for (s64 column = 0; column < whole.first; ++column) pixel(src, dst, row, column);
    if (whole.first < whole.last) pixel(src, dst, row, whole.first, whole.last - whole.first);
    for (s64 column = whole.last; column < geometry.window.w().out; ++column)
      pixel(src, dst, row, column);
  }

  void operator()(const StepArgs& step) const noexcept {
    const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
    const TapRange whole = whole_columns();
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item) {
        const s64 plane = item / h.out, image = plane / planes, channel = plane % planes;
        row_of(f32_input(step, 0) + image * src_strides[0] + channel * src_strides[1],
               f32_output(step, 0) + image * dst_strides[0] + channel * dst_strides[1],
               item % h.out, whole);
      }
    };
    const s64 items = geometry.batch * planes * h.out;
    if (geometry.batch * h.out * w.out * geometry.channels < kSerial) return body(0, items, 0);
    pool_of(step).parallel_for(items, body);
  }
};

}  // namespace

Offer lower_f_pool(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (request.outputs.size() != 1) return Reject{"the indices are an output too"};
  const Shape in = request.inputs[0].shape, out = request.outputs[0].shape;
  if (in.rank() != 4) return Reject{"only images are pooled in f32"};
  const FloatKernel<PoolArgs>& kernel =
      request.node.op->name == "MaxPool" ? kMaxPoolF32 : kAveragePoolF32;

  Candidate candidate;
  const bool planes = request.layouts[0] == Layout::linear && in[1] < kFewChannels;
  const std::string name = kernel.name + std::string(planes ? "_planes" : "");
  candidate.kernel = kernel_name("f32", name, isa_of(request.target));
  const Layout layout = planes ? Layout::linear : Layout::nhwc;
  candidate.inputs = {layout};
  candidate.outputs = {layout};
  candidate.strided = true;
  candidate.bind = [function = kernel_for(kernel, isa_of(request.target)), in, out,
                    planes = planes ? in[1] : 1,
                    geometry = pool_geometry(request.node, in)](const BindArgs& bind) -> RunStep {
    return PoolStep{function, geometry, planes, value_strides(in, bind.inputs[0]),
                    value_strides(out, bind.outputs[0])};
  };
  return candidate;
}

}  // namespace octet
