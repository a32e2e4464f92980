// SPDX-License-Identifier: Apache-2.0
// What a kernel may rely on of the pointers of its step (StepArgs), whatever the plan. Every operand of every step of a plan that is bound
//   * is bound: an input that the node has is memory that an earlier step wrote, the caller's, or a constant's; only an input that the
//     node omits, or a constant that the kernel says it holds itself (Candidate::holds), is none, and an output only where nobody
//     reads it;
//   * is the value that the node names, with its type and in the layout that the kernel asked for;
//   * is as large as that value in that layout, inside the arena or the caller's tensor that it is part of;
//   * lies in the memory of the device that runs the step; a copy between two devices has one side in each.
// Checked once when a plan is bound, so that kernels, those of plugins too, need not look at their pointers.
#pragma once

#include "plan/plan.h"

namespace octet {

// Throws Error(internal) naming the step and the operand of which this is not so. The steps have their candidates.
void check_operands(const Plan& plan);

}  // namespace octet
