// SPDX-License-Identifier: Apache-2.0
// Which steps run the batch in groups of images, each group through all of them before the next, so that what they hand on
// stays in the cache (docs/adr/0011-groups-of-images.md), and where a thread takes whole groups (0013-images-to-threads.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace octet {

// So many threads that are done with their images help another with one of its steps; more would meet more often than they help.
inline constexpr int kMostHelpers = 3;

// The size of dimension 0 of the first input; 1 where there is none.
s64 batch_of(const Plan& plan);

// `share` where everything that the node reads and writes, but for constants, has the batch in dimension 0 and the batch
// falls into so many groups; else the whole batch.
BatchShare possible_share(const Plan& plan, const Node& node, BatchShare share);

// The type of a value as one group sees it: the first dimension divided by `groups`.
TensorType group_type(TensorType type, s64 groups);

// For each step of a plan without offsets its share. `candidates` are those of the steps.
std::vector<BatchShare> choose_shares(const Plan& plan, std::span<const Candidate> candidates,
                                      const Target& target);

// What the inspector says of a step that runs in groups, after the step's own note.
std::string share_note(const Plan& plan, const PlanStep& step);

// Sets Buffer::groups and `sliced`, and the number of slices: what only steps of one run of groups touch holds one group.
void size_by_shares(Plan& plan, int threads);

}  // namespace octet
