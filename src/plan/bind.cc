// SPDX-License-Identifier: Apache-2.0
#include "plan/bind.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include "core/check.h"
#include "core/side_by_side.h"
#include "plan/operands.h"
#include "plan/select.h"
#include "plan/slack.h"

namespace octet {
namespace {

struct Job {
  size_t step;
  size_t slot;  // of the step's preparations
  Preparation preparation;
  Prepared made = nullptr;
  std::exception_ptr error = nullptr;

  void run(PreparedStore& store) noexcept {
    try {
      made = store.get(preparation);
    } catch (...) {
      error = std::current_exception();
    }
  }
};

// Threads take one job after the other. Late layers, which have most of the weights, come first. `threads`: more than the pool has,
// where jobs wait for other processes.
void run_all(std::span<Job> jobs, const Preparing& preparing, int threads) {
  std::atomic<s64> left{std::ssize(jobs)};
  const auto drain = [&] {
    for (s64 i = --left; i >= 0; i = --left) jobs[static_cast<size_t>(i)].run(preparing.store);
  };
  if (threads <= preparing.pool.size()) {
    preparing.pool.parallel_for(preparing.pool.size(), [&](s64, s64, int) { drain(); });
    return;
  }
  side_by_side(jobs.size(), threads, [&](size_t) { drain(); });
}

int preparations_of(const Plan& plan) {
  return plan.devices.empty() ? 1 : plan.devices.back()->preparations();
}

void rethrow(const Job& job, const Plan& plan) {
  try {
    std::rethrow_exception(job.error);
  } catch (Error& error) {
    error.add_context("preparing '" + plan.steps[job.step].name + "'");
    throw;
  }
}

// Each memory outside the arena has a base of its own, beyond any arena, so that equal offsets mean one place.
s64 base_of(const Plan& plan, u32 b) {
  constexpr s64 kBeyondArenas = s64{1} << 40;
  const Buffer& buffer = plan.buffers[b];
  return buffer.kind == Buffer::Kind::arena ? buffer.offset : (s64{b} + 1) * kBeyondArenas;
}

std::shared_ptr<std::byte> copied_to(const Device& device, const Tensor& constant) {
  const s64 bytes = constant.type().bytes();
  std::shared_ptr<std::byte> memory = device.allocate(bytes + kSlack, "a constant");
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  queue->copy(memory.get(), constant.data(), bytes);
  queue->synchronize();
  return memory;
}

}  // namespace

BindArgs placements(const Plan& plan, const PlanStep& step) {
  const auto place = [&](u32 b) {
    return b == kNoBuffer ? Placement{} : plan.buffers[b].placement;
  };
  const auto offset = [&](u32 b) {
    return b == kNoBuffer ? 0 : base_of(plan, b) + plan.buffers[b].origin_bytes;
  };
  BindArgs args;
  for (u32 b : step.inputs) {
    args.inputs.push_back(place(b));
    args.input_offsets.push_back(offset(b));
  }
  for (u32 b : step.outputs) {
    args.outputs.push_back(place(b));
    args.output_offsets.push_back(offset(b));
  }
  return args;
}

std::vector<RunStep> bind_steps(const Plan& plan, const Preparing& preparing) {
  check_operands(plan);
  std::vector<BindArgs> args;
  std::vector<Job> jobs;
  for (const PlanStep& step : plan.steps) {
    args.push_back(placements(plan, step));
    if (step.candidate.prepare == nullptr) continue;
    size_t slot = 0;
    for (Preparation& p : step.candidate.prepare(args.back()))
      jobs.push_back({args.size() - 1, slot++, std::move(p)});
    args.back().prepared.resize(slot);
  }
  run_all(jobs, preparing, preparations_of(plan));
  for (Job& job : jobs) {
    if (job.error != nullptr) rethrow(job, plan);
    args[job.step].prepared[job.slot] = std::move(job.made);
  }
  std::vector<RunStep> steps;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    steps.push_back(with_borders(plan, step, step.candidate.bind(args[s])));
  }
  return steps;
}

std::vector<std::shared_ptr<std::byte>> bind_constants(const Plan& plan, PreparedStore& store) {
  std::vector<std::shared_ptr<std::byte>> memory(plan.buffers.size());
  for (size_t b = 0; b < memory.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.kind != Buffer::Kind::constant) continue;
    const Device& device = *plan.devices[buffer.space];
    const Tensor& constant = plan.graph.value(buffer.value).constant;
    const Prepared made = store.get(preparation<std::shared_ptr<std::byte>>(
        "in memory of " + std::string(device.name()), {constant},
        [&] { return copied_to(device, constant); }));
    const auto held = std::static_pointer_cast<const std::shared_ptr<std::byte>>(made);
    memory[b] = {held, held->get()};  // in use, so the store knows it
  }
  return memory;
}

std::vector<Prepared> prepare_others(const Plan& plan, const Preparing& preparing) {
  const int threads = preparations_of(plan);
  std::vector<Job> jobs;
  for (const PlanStep& step : plan.steps) {
    if (threads == 1 || step.device == kHost) continue;
    for (const Candidate& candidate : likely_kernels(step.kernels, *plan.devices.back())) {
      if (candidate.prepare == nullptr) continue;
      for (Preparation& p : candidate.prepare(placements(plan, step)))
        jobs.push_back({0, 0, std::move(p)});
    }
  }
  std::vector<Prepared> made;
  if (jobs.empty()) return made;
  run_all(jobs, preparing, threads);
  for (Job& job : jobs) made.push_back(std::move(job.made));
  return made;
}

RunStep bind_alone(const Candidate& candidate, BindArgs args, PreparedStore& store) {
  if (candidate.prepare != nullptr) {
    for (const Preparation& p : candidate.prepare(args)) args.prepared.push_back(store.get(p));
  }
  return candidate.bind(args);
}

RunStep bind_alone(const Candidate& candidate, BindArgs args) {
  PreparedStore own;
  return bind_alone(candidate, std::move(args), own);
}

}  // namespace octet
