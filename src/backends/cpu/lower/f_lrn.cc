// SPDX-License-Identifier: Apache-2.0
// f32 LRN: of linear tensors vectors of pixels, whose neighbouring channels lie a plane apart; of nhwc images vectors of channels, copied
// once between as many zeros as a window reaches beyond them.
#include <algorithm>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr s64 kSerial = 4096;
constexpr s64 kBlock = 1024;  // pixels whose squares are summed while they lie in the first cache

struct LrnStep {
  void (*function)(const LrnArgs*);
  s64 images, channels, pixels;
  s64 before, after;  // channels of a window, at most all
  f32 factor, bias, beta;

  template <class Body>
  void share(const StepArgs& step, s64 items, const Body& body) const noexcept {
    if (images * channels * pixels < kSerial) return body(0, items, 0);
    pool_of(step).parallel_for(items, body);
  }
};

struct LinearLrn : LrnStep {
  void operator()(const StepArgs& step) const noexcept {
    const s64 blocks = (pixels + kBlock - 1) / kBlock;
    share(step, images * channels * blocks, [&](s64 begin, s64 end, int) {
      for (s64 item = begin; item < end; ++item) {
        const s64 plane = item / blocks, start = item % blocks * kBlock, c = plane % channels;
        const s64 first = std::max<s64>(c - before, 0), last = std::min(c + after, channels - 1);
        const f32* src = f32_input(step, 0) + plane * pixels + start;
        const LrnArgs args{src,
                           f32_output(step, 0) + plane * pixels + start,
                           std::min(kBlock, pixels - start),
                           src + (first - c) * pixels,
                           last - first + 1,
                           pixels,
                           factor,
                           bias,
                           beta};
        function(&args);
      }
    });
  }
};

struct ImageLrn : LrnStep {
  s64 src_stride, dst_stride;  // between pixels

  s64 row_elements() const { return (before + channels + after + 15) / 16 * 16; }

  void operator()(const StepArgs& step) const noexcept {
    share(step, images * pixels, [&](s64 begin, s64 end, int thread) {
      f32* row = reinterpret_cast<f32*>(step.workspace) + thread * row_elements();
      std::fill_n(row, row_elements(), 0.0f);
      for (s64 pixel = begin; pixel < end; ++pixel) {
        const f32* src = f32_input(step, 0) + pixel * src_stride;
        std::copy_n(src, channels, row + before);
        const LrnArgs args{src,
                           f32_output(step, 0) + pixel * dst_stride,
                           channels,
                           row,
                           before + after + 1,
                           1,
                           factor,
                           bias,
                           beta};
        function(&args);
      }
    });
  }
};

}  // namespace

Offer lower_f_lrn(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[0].shape;
  if (shape.elements() == 0) return Reject{"there is nothing to normalize"};
  const auto p = attributes_of<LrnAttributes>(request.node);
  const Isa isa = isa_of(request.target);
  const LrnStep step{kernel_for(kLrnF32, isa),
                     shape[0],
                     shape[1],
                     dims_product(shape, 2, shape.rank()),
                     std::min((p.size - 1) / 2, shape[1]),
                     std::min(p.size - 1 - (p.size - 1) / 2, shape[1]),
                     p.alpha / static_cast<f32>(p.size),
                     p.bias,
                     p.beta};
  Candidate candidate;
  candidate.kernel = kernel_name("f32", kLrnF32.name, isa);
  candidate.inputs = request.layouts;
  candidate.outputs = {request.layouts[0]};
  candidate.by_image = true;
  if (request.layouts[0] != Layout::nhwc) {
    candidate.inputs = {Layout::linear};
    candidate.outputs = {Layout::linear};
    candidate.bind = [step](const BindArgs&) -> RunStep { return LinearLrn{step}; };
    return candidate;
  }
  const s64 row_bytes = ImageLrn{step, 0, 0}.row_elements() * static_cast<s64>(sizeof(f32));
  candidate.workspace_bytes = row_bytes * request.target.threads;
  candidate.bind = [step, shape](const BindArgs& bind) -> RunStep {
    return ImageLrn{step, value_strides(shape, bind.inputs[0])[3],
                    value_strides(shape, bind.outputs[0])[3]};
  };
  return candidate;
}

}  // namespace octet
