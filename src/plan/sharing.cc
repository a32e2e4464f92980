// SPDX-License-Identifier: Apache-2.0
// Which steps run on one thread though there are more, rows of short ones, and which are shared in whole pieces.
#include <algorithm>

#include "plan/plan.h"

namespace octet {
namespace {

// A short step among longer ones is shared as they are: each thread finds its own pixels in its own core's cache, where one
// thread alone would draw them all to its core, and the next step half of them back.
constexpr size_t kRow = 8;
constexpr int kFew = 4;

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

// A step, or a piece of it where so many threads share it.
bool is_short(const Plan& plan, const PlanStep& step, int threads) {
  const DeviceCosts& costs = plan.devices[step.device]->costs();
  if (step.cost > 0) return step.cost / threads < costs.short_cycles;
  // Kernels that name no cost and yield codes: moves, tables and the like.
  for (u32 b : step.outputs) {
    if (b != kNoBuffer && plan.graph.value(plan.buffers[b].value).type.dtype != Dtype::u8)
      return false;
  }
  return bytes_touched(plan, step) / threads < costs.short_bytes;
}

// Who is done waits a moment before it takes from the pieces of others: for those of a few threads in vain. Among many some core is
// slow, and a long step's pieces are worth taking from however short they are.
Sharing sharing_of_one(const Plan& plan, const PlanStep& step, int threads) {
  return is_short(plan, step, std::min(threads, kFew)) ? Sharing::pieces : Sharing::chunks;
}

}  // namespace

void choose_sharing(Plan& plan, int threads) {
  for (size_t s = 0; s < plan.steps.size();) {
    size_t end = s;
    while (end < plan.steps.size() && is_short(plan, plan.steps[end], 1)) ++end;
    if (end - s >= kRow) {
      for (; s < end; ++s) plan.steps[s].sharing = Sharing::alone;
    }
    end = std::min(end + 1, plan.steps.size());
    for (; s < end; ++s) plan.steps[s].sharing = sharing_of_one(plan, plan.steps[s], threads);
  }
}

}  // namespace octet
