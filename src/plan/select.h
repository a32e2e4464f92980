// SPDX-License-Identifier: Apache-2.0
// Which kernel runs a node: every lowering is asked, and of those that accept the one of least cost is taken, or the one
// that measurements on this machine named (octet/tuning.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "octet/tuning.h"
#include "plan/backend.h"
#include "plan/offer.h"

namespace octet {

struct Selection {
  bool found = true;  // false: no lowering accepts, and the backend has no reference
  Candidate chosen;
  std::vector<Candidate> others;     // kernels that accepted too; only where the target keeps them
  std::vector<std::string> rejects;  // of everything else that was asked: "name: reason"
  KernelChoice choice;
};

// Why the reference alone runs the node (OpTraits::wide_sums); empty: any kernel may.
std::string needs_reference(const LowerRequest& asked);

Selection select_kernel(const LowerRequest& asked, const Backend& backend);

// Whether another kernel can be measured with the operands of the chosen one: it takes them in the same layouts, and a group of the batch if that one does.
bool takes_place_of(const Candidate& chosen, const Candidate& other, bool in_groups);

// Index of the candidate to take; `accepted` is in the order of the table and not empty. Costs decide between candidates
// that have one, the order of the table between others; a result that is only close never replaces an exact one.
size_t cheapest(const LowerRequest& asked, std::span<const Candidate> accepted);

// Cycles of one core for a candidate, with the layout changes of its inputs; 0 when it names no cost.
f64 cost_of(const LowerRequest& asked, const Candidate& candidate);

// Of a step's kernel and those that could take its place (PlanStep::kernels): the first, and at most 15 with the least estimates. A GPU has
// dozens of tiles for a product; where each is compiled before it runs, it is 7, none with an estimate above 1.5 times the first's.
std::vector<Candidate> likely_kernels(std::vector<Candidate> kernels, const Device& device);

}  // namespace octet
