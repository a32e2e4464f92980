// SPDX-License-Identifier: Apache-2.0
// The border of zero points that convolutions read around an image.
#include "plan/plan.h"

namespace octet {

RunStep with_borders(const Plan& plan, const PlanStep& step, RunStep run) {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoBuffer) continue;
    const Buffer& buffer = plan.buffers[step.outputs[i]];
    if (buffer.placement.border == 0) continue;
    const Value& value = plan.graph.value(buffer.value);
    const BorderFill fill{.output = i,
                          .placement = buffer.placement,
                          .origin_bytes = buffer.origin_bytes,
                          .images = value.type.shape[0] / step.share.groups,
                          .height = value.type.shape[2],
                          .code = value.quant->zero_point};
    run = [fill = plan.devices[step.device]->backend().fill_border(fill),
           run = std::move(run)](const StepArgs& args) {
      fill(args);
      run(args);
    };
  }
  return run;
}

}  // namespace octet
