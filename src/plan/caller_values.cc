// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a plan: in the caller's memory where its kernels may read and write there, else copied.
#include "plan/value_forms.h"

namespace octet {
namespace {

// A kernel that reads the caller's memory is given anew in each run; what several read is copied, so that they need not be.
bool is_read_in_place(const Plan& plan, u32 index, const Uses& uses) {
  return plan.caller.is_aligned(index) && uses.consumers(plan.graph.inputs[index]).size() <= 1;
}

u32 add_output_buffer(Plan& plan, u32 index, u32 space) {
  Buffer buffer;
  buffer.value = plan.graph.outputs[index];
  buffer.kind = Buffer::Kind::output;
  buffer.index = index;
  buffer.space = space;
  plan.buffers.push_back(buffer);
  return static_cast<u32>(plan.buffers.size() - 1);
}

// Whether it can be: only what steps write into the arena has no other place.
bool becomes_output(Buffer& buffer, u32 index) {
  if (buffer.kind != Buffer::Kind::arena) return false;
  buffer.kind = Buffer::Kind::output;
  buffer.index = index;
  return true;
}

// Kernels write where they may ask for alignment, and the caller gets a copy where it has not promised that.
void add_device_output(PlanDraft& draft, ValueForms& forms, u32 index, u32 space) {
  Plan& plan = draft.plan;
  const ValueId id = plan.graph.outputs[index];
  const u32 source = forms.buffer_in(id, {Layout::linear, space});
  if (plan.caller.is_in_place(index) && becomes_output(plan.buffers[source], index)) return;
  forms.push_copy(id, source, add_output_buffer(plan, index, space), Layout::linear);
}

// The caller's buffer takes the place of the arena buffer that a step writes; else the value is copied.
void add_host_output(PlanDraft& draft, ValueForms& forms, u32 index) {
  Plan& plan = draft.plan;
  const ValueId id = plan.graph.outputs[index];
  const Backend& host = draft.backend(kHost);
  if (plan.graph.is_constant(id)) {
    return draft.push_step(
        {.name = draft.name_of(id), .outputs = {add_output_buffer(plan, index, kHost)}},
        host.constant(plan.graph.value(id).constant));
  }
  const u32 source = forms.buffer_in(id, {});
  if (becomes_output(plan.buffers[source], index)) return;
  draft.push_step({.name = draft.name_of(id) + ".copy",
                   .inputs = {source},
                   .outputs = {add_output_buffer(plan, index, kHost)}},
                  host.convert(plan.graph.value(id).type, Layout::linear, Layout::linear,
                               draft.targets[kHost]));
}

}  // namespace

void add_inputs(PlanDraft& draft, ValueForms& forms) {
  Plan& plan = draft.plan;
  const Uses uses(plan.graph);
  for (u32 i = 0; i < plan.graph.inputs.size(); ++i) {
    const ValueId id = plan.graph.inputs[i];
    plan.input_types.push_back(plan.graph.value(id).type);
    const u32 space = plan.caller.of_input(i);
    const bool callers = space != kHost && !is_read_in_place(plan, i, uses);
    Buffer& buffer = plan.buffers[forms.add_first(id, {Layout::linear, space, callers})];
    buffer.kind = Buffer::Kind::input;
    buffer.index = i;
  }
}

void add_outputs(PlanDraft& draft, ValueForms& forms) {
  Plan& plan = draft.plan;
  for (u32 i = 0; i < plan.graph.outputs.size(); ++i) {
    plan.output_types.push_back(plan.graph.value(plan.graph.outputs[i]).type);
    const u32 space = plan.caller.of_output(i);
    if (space != kHost) {
      add_device_output(draft, forms, i, space);
    } else {
      add_host_output(draft, forms, i);
    }
  }
}

}  // namespace octet
