// SPDX-License-Identifier: Apache-2.0
#include "plan/draft.h"

#include <algorithm>
#include <utility>

#include "plan/groups.h"

namespace octet {

TensorType type_in_groups(const Graph& graph, ValueId id, s64 groups) {
  if (id == kNoValue) return {};
  const TensorType& type = graph.value(id).type;
  return graph.is_constant(id) ? type : group_type(type, groups);
}

PlanDraft::PlanDraft(Graph graph, const Target& target, const CallerMemory& caller)
    : targets{target}, lane(target) {
  plan.caller = caller;
  plan.graph = std::move(graph);
  lane.threads = std::min(target.threads, 1 + kMostHelpers);
  // The host's own nodes are planned as if there were no other device.
  targets[kHost].device = target.host;
  if (target.device != target.host) targets.push_back(target);
  for (const Target& t : targets) plan.devices.push_back(t.device);
}

void PlanDraft::push_step(PlanStep step, Candidate candidate) {
  step.kernel = candidate.kernel;
  step.note = candidate.note;
  step.share = share;
  step.workspace_bytes = candidate.workspace_bytes;
  if (share.groups > 1) step.note += share_note(plan, step);
  step.cost = candidate.cost;
  plan.steps.push_back(std::move(step));
  candidates.push_back(std::move(candidate));
}

}  // namespace octet
