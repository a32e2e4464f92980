// SPDX-License-Identifier: Apache-2.0
// f32 MaxPool and AveragePool of images in nhwc: one output pixel at a time, all channels of it.
#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;

struct PoolStep {
  void (*function)(const PoolArgs*);
  PoolGeometry geometry;
  std::vector<s64> src_strides, dst_strides;  // image, channel, row, pixel

  void pixel(const f32* src, f32* dst, s64 row, s64 column) const noexcept {
    const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
    const TapRange rows = taps_inside(h, row), columns = taps_inside(w, column);
    const s64 top = row * h.stride - h.pad_begin + rows.first * h.dilation;
    const s64 left = column * w.stride - w.pad_begin + columns.first * w.dilation;
    const PoolArgs args{src + top * src_strides[2] + left * src_strides[3],
                        dst + row * dst_strides[2] + column * dst_strides[3],
                        geometry.channels,
                        rows.last - rows.first,
                        columns.last - columns.first,
                        h.dilation * src_strides[2],
                        w.dilation * src_strides[3],
                        static_cast<f32>(geometry.divisor(0, row, column))};
    function(&args);
  }

  void operator()(const StepArgs& step) const noexcept {
    const WindowAxis &h = geometry.window.h(), &w = geometry.window.w();
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item) {
        const s64 image = item / h.out, row = item % h.out;
        const f32* src = f32_input(step, 0) + image * src_strides[0];
        f32* dst = f32_output(step, 0) + image * dst_strides[0];
        for (s64 column = 0; column < w.out; ++column) pixel(src, dst, row, column);
      }
    };
    const s64 items = geometry.batch * h.out;
    if (items * w.out * geometry.channels < kSerial) return body(0, items, 0);
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
  candidate.kernel = kernel_name("f32", kernel.name, isa_of(request.target));
  candidate.inputs = {Layout::nhwc};
  candidate.outputs = {Layout::nhwc};
  candidate.strided = true;
  candidate.bind = [function = kernel_for(kernel, isa_of(request.target)), in, out,
                    geometry = pool_geometry(request.node, in)](const BindArgs& bind) -> RunStep {
    return PoolStep{function, geometry, value_strides(in, bind.inputs[0]),
                    value_strides(out, bind.outputs[0])};
  };
  return candidate;
}

}  // namespace octet
