// SPDX-License-Identifier: Apache-2.0
// Which steps run on one thread though there are more: rows of short ones.
#include "plan/plan.h"

namespace octet {
namespace {

// A short step among longer ones is shared as they are: each thread finds its own pixels in its own core's cache, where one
// thread alone would draw them all to its core, and the next step half of them back.
constexpr size_t kRow = 8;

// Of everything that a step reads and writes.
s64 bytes_touched(const Plan& plan, const PlanStep& step) {
  s64 bytes = 0;
  for (const std::vector<u32>* buffers : {&step.inputs, &step.outputs}) {
    for (u32 b : *buffers) bytes += b == kNoBuffer ? 0 : plan.buffers[b].bytes;
  }
  if (step.node >= plan.graph.nodes.size()) return bytes;
  for (ValueId id : plan.graph.nodes[step.node].inputs) {
    if (id != kNoValue && plan.graph.is_constant(id)) bytes += plan.graph.value(id).type.bytes();
  }
  return bytes;
}

bool is_short(const Plan& plan, const PlanStep& step) {
  const DeviceCosts& costs = plan.devices[step.device]->costs();
  if (step.cost > 0) return step.cost < costs.short_cycles;
  // Kernels that name no cost and yield codes: moves, tables and the like.
  for (u32 b : step.outputs) {
    if (b != kNoBuffer && plan.graph.value(plan.buffers[b].value).type.dtype != Dtype::u8)
      return false;
  }
  return bytes_touched(plan, step) < costs.short_bytes;
}

}  // namespace

void choose_alone(Plan& plan) {
  for (size_t s = 0; s < plan.steps.size();) {
    size_t end = s;
    while (end < plan.steps.size() && is_short(plan, plan.steps[end])) ++end;
    for (size_t i = s; i < end; ++i) plan.steps[i].alone = end - s >= kRow;
    s = end + 1;
  }
}

}  // namespace octet
