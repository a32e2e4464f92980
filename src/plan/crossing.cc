// SPDX-License-Identifier: Apache-2.0
// What goes from the memory of one device to that of another, and who waits for it.
#include <fmt/format.h>

#include "plan/plan.h"

namespace octet {

Candidate crossing_copy(const TensorType& type, Layout layout, u32 from, u32 to) {
  const s64 bytes = format_bytes(type, dense_placement(type, layout, 0));
  Candidate candidate;
  candidate.kernel = from == to    ? "copy_on_device"
                     : to == kHost ? "copy_to_host"
                                   : "copy_to_device";
  candidate.note = fmt::format("{} bytes", bytes);
  candidate.inputs = candidate.outputs = {layout};
  candidate.bind = [bytes](const BindArgs&) -> RunStep {
    return
        [bytes](const StepArgs& args) { args.queue.copy(args.outputs[0], args.inputs[0], bytes); };
  };
  return candidate;
}

bool is_crossing(const Plan& plan, const PlanStep& step) {
  if (step.node < plan.graph.nodes.size() || step.inputs.size() != 1) return false;
  return plan.buffers[step.inputs[0]].space != plan.buffers[step.outputs[0]].space;
}

// A queue keeps its own order, and the host gives work to it only after the host's earlier steps have run. So nothing must wait
// but the host: before it reads what a copy brought, or writes where a copy still reads. The last copy given stands for all.
void order_queues(Plan& plan) {
  u32 last = kNoStep;
  for (u32 s = 0; s < plan.steps.size(); ++s) {
    PlanStep& step = plan.steps[s];
    if (is_crossing(plan, step)) {
      last = s;
    } else if (step.device == kHost) {
      step.after = last;
      last = kNoStep;
    }
  }
}

}  // namespace octet
