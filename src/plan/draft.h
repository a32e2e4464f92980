// SPDX-License-Identifier: Apache-2.0
// A plan while it is made: its steps so far, the kernels that were chosen for them, and what kernels are chosen for.
#pragma once

#include <string>
#include <vector>

#include "plan/backend.h"
#include "plan/plan.h"

namespace octet {

// As a step in groups sees the value; no type where there is no value.
TensorType type_in_groups(const Graph& graph, ValueId id, s64 groups);

struct PlanDraft {
  PlanDraft(Graph graph, const Target& target, const CallerMemory& caller);

  const Backend& backend(u32 device) const { return plan.devices[device]->backend(); }
  // What the node that is being added is planned for.
  const Target& target_of(u32 device) const { return share.by_thread ? lane : targets[device]; }
  const std::string& name_of(ValueId id) const { return plan.graph.value(id).name; }
  // With the share of the node that is being added.
  void push_step(PlanStep step, Candidate candidate);

  Plan plan;
  std::vector<Target> targets;  // of each device of the plan
  Target lane;       // for steps of which threads take whole groups: one thread and its helpers
  BatchShare share;  // of the node that is being added
  std::vector<Candidate> candidates;  // of each step
};

}  // namespace octet
