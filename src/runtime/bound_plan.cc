// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_plan.h"

#include "octet/error.h"

namespace octet {
namespace {

// Between the images of one group of the step and those of the next, in a buffer that holds the whole batch.
s64 group_bytes(const Plan& plan, const PlanStep& step, const Buffer& buffer) {
  const TensorType& type = plan.graph.value(buffer.value).type;
  return type.shape[0] / step.groups * image_bytes(type, buffer.placement);
}

}  // namespace

BoundPlan::BoundPlan(Plan plan, Queues& queues) : plan_(std::move(plan)), queues_(queues) {
  for (size_t d = 0; d < plan_.devices.size(); ++d) {
    arenas_.push_back(
        plan_.devices[d]->allocate(plan_.arenas[d].bytes, "the plan for these input sizes"));
  }
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
    if (step.after != kNoStep) wait_for(plan_.steps[step.after], plan_.steps[s]);
  }
}

// The copy's queue tells when it is done; the reader, on the host, waits for that.
void BoundPlan::wait_for(PlanStep& copy, PlanStep& reader) {
  Queue& queue = queues_.of(copy);
  Event& event = *events_.emplace_back(queue.make_event());
  copy.run = [&event, run = std::move(copy.run)](const StepArgs& args) {
    run(args);
    args.queue.record(event);
  };
  reader.run = [&event, run = std::move(reader.run)](const StepArgs& args) {
    event.synchronize();
    run(args);
  };
}

BoundPlan::Awaited::~Awaited() {
  try {
    queues_.synchronize();
  } catch (const Error&) {
    // Only where the run already leaves with an error of its own.
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
  const Buffer& buffer = plan_.buffers[b];
  return arenas_[buffer.space].get() + buffer.offset + buffer.origin_bytes;
}

void BoundPlan::bind_caller(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  for (const CallerPointer& pointer : caller_) {
    // Inputs are only read: a step's pointer array has one type for both directions.
    *pointer.slot = pointer.is_output ? outputs[pointer.index].mutable_data()
                                      : const_cast<std::byte*>(inputs[pointer.index].data());
  }
}

StepArgs BoundPlan::step_args(size_t s) {
  std::byte** pointers = pointers_.data() + first_pointer_[s];
  const PlanStep& step = plan_.steps[s];
  return {pointers, pointers + step.inputs.size(),
          arenas_[step.device].get() + plan_.arenas[step.device].workspace_offset,
          queues_.of(step)};
}

void BoundPlan::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  visit_steps(inputs, outputs,
              [&](size_t s, const StepArgs& args, s64) { plan_.steps[s].run(args); });
}

void BoundPlan::run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                          std::span<f64> step_us) {
  struct Span {
    size_t step;
    std::unique_ptr<Event> begin, end;
  };
  std::vector<Span> spans;
  for (const Run& run : runs_) {
    for (s64 group = 0; group < run.groups; ++group) {
      for (size_t s = run.first; s < run.end; ++s) {
        Queue& queue = queues_.of(plan_.steps[s]);
        spans.push_back({s, queue.make_event(), queue.make_event()});
      }
    }
  }
  auto span = spans.begin();
  visit_steps(inputs, outputs, [&](size_t s, const StepArgs& args, s64) {
    args.queue.record(*span->begin);
    plan_.steps[s].run(args);
    args.queue.record(*span->end);
    ++span;
  });
  for (const Span& s : spans) step_us[s.step] += s.end->microseconds_since(*s.begin);
}

}  // namespace octet
