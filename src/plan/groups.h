// SPDX-License-Identifier: Apache-2.0
// Which steps run the batch in groups of images, each group through all of them before the next, so that what they hand on
// stays in the cache (docs/adr/0011-groups-of-images.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace octet {

// The size of dimension 0 of the first input; 1 where there is none.
s64 batch_of(const Plan& plan);

// `groups` where everything that the node reads and writes, but for constants, has the batch in dimension 0 and the batch
// falls into so many groups; else 1.
s64 possible_groups(const Plan& plan, const Node& node, s64 groups);

// The type of a value as one group sees it: the first dimension divided by `groups`.
TensorType group_type(TensorType type, s64 groups);

// For each step of a plan without offsets the number of groups; 1 is the whole batch. `candidates` are those of the steps.
std::vector<s64> choose_groups(const Plan& plan, std::span<const Candidate> candidates,
                               const Target& target);

// What the inspector says of a step that runs in groups, after the step's own note.
std::string group_note(const Plan& plan, const PlanStep& step);

// Sets Buffer::groups: what only steps of one run of groups touch holds one group.
void size_by_groups(Plan& plan);

}  // namespace octet
