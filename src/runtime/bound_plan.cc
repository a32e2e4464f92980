// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_plan.h"

#include <chrono>

#include "core/memory.h"

namespace octet {
namespace {

// Rows past the last pixel may be read (never used) by kernels: counted storage is zeroed.
std::shared_ptr<std::byte> allocate_arena(s64 bytes) {
  constexpr size_t kPage = 4096;
  return allocate_counted(bytes, kPage, "the plan for these input sizes");
}

// Between the images of one group of the step and those of the next, in a buffer that holds the whole batch.
s64 group_bytes(const Plan& plan, const PlanStep& step, const Buffer& buffer) {
  const TensorType& type = plan.graph.value(buffer.value).type;
  if (buffer.placement.layout == Layout::linear) return type.bytes() / step.groups;
  return type.shape[0] / step.groups * buffer.placement.image_stride *
         static_cast<s64>(dtype_bytes(type.dtype));
}

}  // namespace

BoundPlan::BoundPlan(Plan plan)
    : plan_(std::move(plan)), arena_(allocate_arena(plan_.arena_bytes)) {
  size_t count = 0;
  for (const PlanStep& step : plan_.steps) {
    first_pointer_.push_back(count);
    count += step.inputs.size() + step.outputs.size();
  }
  pointers_.resize(count);
  std::byte** slot = pointers_.data();
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    if (runs_.empty() || runs_.back().groups != step.groups)
      runs_.push_back({s, s, step.groups, {}});
    runs_.back().end = s + 1;
    for (const std::vector<u32>* buffers : {&step.inputs, &step.outputs}) {
      for (u32 b : *buffers) add_pointer(step, b, slot++);
    }
  }
}

void BoundPlan::add_pointer(const PlanStep& step, u32 b, std::byte** slot) {
  *slot = resolve(b);
  if (b == kNoBuffer) return;
  const Buffer& buffer = plan_.buffers[b];
  if (buffer.kind != Buffer::Kind::arena)
    caller_.push_back({slot, buffer.kind == Buffer::Kind::output, buffer.index});
  if (step.groups > buffer.groups)
    runs_.back().moving.push_back({slot, group_bytes(plan_, step, buffer)});
}

std::byte* BoundPlan::resolve(u32 b) {
  if (b == kNoBuffer || plan_.buffers[b].kind != Buffer::Kind::arena) return nullptr;
  return arena_.get() + plan_.buffers[b].offset + plan_.buffers[b].origin_bytes;
}

void BoundPlan::bind_caller(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  for (const CallerPointer& pointer : caller_) {
    // Inputs are only read: a step's pointer array has one type for both directions.
    *pointer.slot = pointer.is_output ? outputs[pointer.index].mutable_data()
                                      : const_cast<std::byte*>(inputs[pointer.index].data());
  }
}

StepArgs BoundPlan::step_args(size_t s, ThreadPool& pool) {
  std::byte** pointers = pointers_.data() + first_pointer_[s];
  return {pointers, pointers + plan_.steps[s].inputs.size(), arena_.get() + plan_.workspace_offset,
          plan_.steps[s].alone ? alone_ : pool};
}

void BoundPlan::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool& pool) {
  visit_steps(inputs, outputs, pool,
              [&](size_t s, const StepArgs& args, s64) { plan_.steps[s].run(args); });
}

void BoundPlan::run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                          ThreadPool& pool, std::span<f64> step_us) {
  visit_steps(inputs, outputs, pool, [&](size_t s, const StepArgs& args, s64) {
    const auto start = std::chrono::steady_clock::now();
    plan_.steps[s].run(args);
    step_us[s] +=
        std::chrono::duration<f64, std::micro>(std::chrono::steady_clock::now() - start).count();
  });
}

}  // namespace octet
