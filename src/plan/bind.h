// SPDX-License-Identifier: Apache-2.0
// From a plan's decisions to steps that run: first kernels prepare what they make of constants, on all threads at once and
// shared between plans; then each learns where its values lie.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "plan/plan.h"
#include "plan/prepared_store.h"

namespace octet {

// Who keeps what is prepared, and who makes it.
struct Preparing {
  PreparedStore& store;
  ThreadPool& pool;
};

// Where the inputs and outputs of a step lie, two at equal offsets only where they begin at one place; nothing is prepared yet.
BindArgs placements(const Plan& plan, const PlanStep& step);

// Of all steps of the plan. Throws Error naming the step whose preparation failed, and Error(internal) where an operand has not what
// plan/operands.h promises.
std::vector<RunStep> bind_steps(const Plan& plan, const Preparing& preparing);

// The memory of each buffer that is a constant, filled, in its device's memory; null for others.
std::vector<std::shared_ptr<std::byte>> bind_constants(const Plan& plan, PreparedStore& store);

// Of likely_kernels(), for who is about to bind them one by one: all at the same time, where a device's kernels are made by other processes;
// else nothing. What fails is left to who binds it.
std::vector<Prepared> prepare_others(const Plan& plan, const Preparing& preparing);

// Of one kernel by itself. What it prepares comes from the store; without one it shares nothing.
RunStep bind_alone(const Candidate& candidate, BindArgs args, PreparedStore& store);
RunStep bind_alone(const Candidate& candidate, BindArgs args);

}  // namespace octet
