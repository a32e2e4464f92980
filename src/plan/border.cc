// SPDX-License-Identifier: Apache-2.0
// The border of zero points that convolutions read around an image.
#include <cstring>

#include "plan/plan.h"

namespace octet {

RunStep with_border(const Plan& plan, const PlanStep& step, size_t output, RunStep run) {
  const Buffer& buffer = plan.buffers[step.outputs[output]];
  const Value& value = plan.graph.value(buffer.value);
  const Placement p = buffer.placement;
  const s64 images = value.type.shape[0] / step.groups, height = value.type.shape[2];
  const s64 origin = buffer.origin_bytes, side = p.border * p.pixel_stride;
  const int code = value.quant->zero_point;
  return [=, run = std::move(run)](const StepArgs& args) {
    u8* base = reinterpret_cast<u8*>(args.outputs[output]) - origin;
    const auto fill = [code](u8* at, s64 bytes) {
      std::memset(at, code, static_cast<size_t>(bytes));
    };
    for (s64 n = 0; n < images; ++n, base += p.image_stride) {
      // The end of a row and the start of the next are adjacent: one fill for both.
      fill(base, p.border * p.row_stride + side);
      for (s64 y = 0; y + 1 < height; ++y)
        fill(base + (p.border + y + 1) * p.row_stride - side, 2 * side);
      fill(base + (p.border + height) * p.row_stride - side, p.border * p.row_stride + side);
    }
    run(args);
  };
}

}  // namespace octet
