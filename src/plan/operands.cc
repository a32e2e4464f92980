// SPDX-License-Identifier: Apache-2.0
#include "plan/operands.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "plan/groups.h"

namespace octet {
namespace {

// One operand of a step.
struct Operand {
  const PlanStep& step;
  bool output;
  size_t index;
  u32 buffer;
  ValueId value;  // that the node has there; of steps that are no node, the buffer's
  Layout layout;  // that the kernel asked for

  const char* side() const { return output ? "output" : "input"; }
};

class Operands {
 public:
  explicit Operands(const Plan& plan) : plan_(plan), written_(plan.buffers.size(), false) {}

  void check() {
    for (const PlanStep& step : plan_.steps) {
      check_counts(step);
      for (size_t i = 0; i < step.inputs.size(); ++i) check_input(operand(step, false, i));
      for (size_t i = 0; i < step.outputs.size(); ++i) check_output(operand(step, true, i));
      check_workspace(step);
    }
  }

 private:
  const Node* node_of(const PlanStep& step) const {
    return step.node < plan_.graph.nodes.size() ? &plan_.graph.nodes[step.node] : nullptr;
  }

  [[noreturn]] static void refuse(const PlanStep& step, const std::string& what) {
    fail(Error::Code::internal,
         "layer '{}' cannot be bound to its kernel '{}': {}; the fault is Octet's, not the model's",
         step.name, step.kernel, what);
  }

  [[noreturn]] void refuse(const Operand& o, const std::string& what) const {
    const std::string value =
        o.value == kNoValue ? "" : fmt::format(" '{}'", plan_.graph.value(o.value).name);
    refuse(o.step, fmt::format("{} {}{} {}", o.side(), o.index, value, what));
  }

  void check_counts(const PlanStep& step) const {
    const Candidate& kernel = step.candidate;
    const Node* node = node_of(step);
    const bool fits = kernel.bind != nullptr && kernel.inputs.size() == step.inputs.size() &&
                      kernel.outputs.size() == step.outputs.size();
    const bool is_nodes = node == nullptr || (node->inputs.size() == step.inputs.size() &&
                                              node->outputs.size() == step.outputs.size());
    if (!fits || !is_nodes) refuse(step, "it has another number of operands");
    if (step.device != kHost && step.device >= plan_.devices.size())
      refuse(step, "the plan has no such device");
  }

  // Null where the step has none, or one that the plan has not.
  const Buffer* buffer_of(const std::vector<u32>& buffers, size_t i) const {
    const bool known = i < buffers.size() && buffers[i] < plan_.buffers.size();
    return known ? &plan_.buffers[buffers[i]] : nullptr;
  }

  // Steps that are no node only move a value.
  ValueId value_of(const PlanStep& step, bool output, size_t i) const {
    if (const Node* node = node_of(step)) return output ? node->outputs[i] : node->inputs[i];
    const Buffer* moved = buffer_of(step.inputs.empty() ? step.outputs : step.inputs, 0);
    return moved != nullptr ? moved->value : kNoValue;
  }

  Operand operand(const PlanStep& step, bool output, size_t i) const {
    const Layout layout = output ? step.candidate.outputs[i] : step.candidate.inputs[i];
    return {step,  output, i, output ? step.outputs[i] : step.inputs[i], value_of(step, output, i),
            layout};
  }

  bool crosses(const PlanStep& step) const {
    const Buffer *from = buffer_of(step.inputs, 0), *to = buffer_of(step.outputs, 0);
    return node_of(step) == nullptr && from != nullptr && to != nullptr && from->space != to->space;
  }

  void check_input(const Operand& o) {
    const bool constant = o.value != kNoValue && plan_.graph.is_constant(o.value);
    const bool held = o.step.candidate.holds_input(o.index);
    if (held && !constant) refuse(o, "is held by the kernel, and no constant");
    if (held && o.layout != Layout::linear) refuse(o, "is a constant, and asked for in a layout");
    if (o.buffer == kNoBuffer) {
      if (o.value != kNoValue && !held) refuse(o, "has no memory");
      if (node_of(o.step) == nullptr) refuse(o, "has no memory");
      return;
    }
    check_buffer(o);
    const Buffer& buffer = plan_.buffers[o.buffer];
    const bool made = buffer.kind == Buffer::Kind::arena || buffer.kind == Buffer::Kind::output;
    if (made && !written_[o.buffer]) refuse(o, "is read before a step writes it");
    if (buffer.groups > o.step.share.groups) refuse(o, "is a part of the batch, and read whole");
    if (buffer.kind == Buffer::Kind::constant && o.step.share.groups > 1 && node_of(o.step))
      refuse(o, "is a constant, and read in parts");
  }

  void check_output(const Operand& o) {
    if (o.buffer == kNoBuffer) {
      if (o.value != kNoValue || node_of(o.step) == nullptr) refuse(o, "has no memory");
      return;
    }
    check_buffer(o);
    const Buffer::Kind kind = plan_.buffers[o.buffer].kind;
    if (kind == Buffer::Kind::constant) refuse(o, "is a constant");
    written_[o.buffer] = true;
  }

  // What both sides ask for.
  void check_buffer(const Operand& o) const {
    if (o.buffer >= plan_.buffers.size()) refuse(o, "lies in a buffer that the plan has not");
    const Buffer& buffer = plan_.buffers[o.buffer];
    if (buffer.value != o.value) refuse(o, "lies in the memory of another value");
    if (buffer.placement.layout != o.layout) refuse(o, "lies in another layout");
    const bool other_side = buffer.space == kHost && crosses(o.step);
    if (buffer.space != o.step.device && !other_side) refuse(o, "lies in another device's memory");
    check_extent(o, buffer);
  }

  void check_extent(const Operand& o, const Buffer& buffer) const {
    const TensorType& type = plan_.graph.value(buffer.value).type;
    switch (buffer.kind) {
      case Buffer::Kind::arena:
        return check_arena(o, buffer);
      case Buffer::Kind::constant: {
        const Tensor& constant = plan_.graph.value(buffer.value).constant;
        if (!constant || !(constant.type() == type)) refuse(o, "is a constant of another type");
        return;
      }
      case Buffer::Kind::input:
        return check_caller(o, buffer, plan_.input_types, plan_.caller.of_input(buffer.index));
      case Buffer::Kind::output:
        return check_caller(o, buffer, plan_.output_types, plan_.caller.of_output(buffer.index));
    }
  }

  // A value that only has another shape may be the caller's tensor.
  void check_caller(const Operand& o, const Buffer& buffer, const std::vector<TensorType>& types,
                    u32 space) const {
    const TensorType& type = plan_.graph.value(buffer.value).type;
    const bool fits = buffer.index < types.size() && buffer.space == space &&
                      dtype_bytes(types[buffer.index].dtype) == dtype_bytes(type.dtype) &&
                      types[buffer.index].bytes() == type.bytes();
    if (!fits) refuse(o, "is another tensor than the caller's");
  }

  void check_arena(const Operand& o, const Buffer& buffer) const {
    const TensorType type = group_type(plan_.graph.value(buffer.value).type, buffer.groups);
    const Buffer& whole = buffer.same_as == kNoBuffer ? buffer : plan_.buffers[buffer.same_as];
    // A part of a concatenation begins inside of the whole's first pixel.
    const s64 needed =
        o.layout == Layout::linear ? type.bytes() : format_bytes(type, buffer.placement);
    const Arena& arena = plan_.arenas[buffer.space];
    const s64 end = buffer.sliced ? plan_.slices.workspace_offset : arena.workspace_offset;
    const bool fits = needed <= whole.bytes && buffer.offset == whole.offset &&
                      buffer.offset >= 0 && buffer.offset + whole.bytes <= end &&
                      buffer.space == whole.space && buffer.sliced == whole.sliced;
    if (!fits) refuse(o, "is larger than its memory");
  }

  void check_workspace(const PlanStep& step) const {
    if (step.candidate.workspace_bytes == 0) return;
    const bool sliced = step.share.by_thread;
    const Arena& arena = plan_.arenas[step.device];
    const s64 room = sliced ? plan_.slices.bytes - plan_.slices.workspace_offset
                            : (step.device == kHost && plan_.slices.count > 0 ? plan_.slices.offset
                                                                              : arena.bytes) -
                                  arena.workspace_offset;
    if (step.candidate.workspace_bytes > room)
      refuse(step, "its workspace is larger than its memory");
  }

  const Plan& plan_;
  std::vector<bool> written_;  // buffers
};

}  // namespace

void check_operands(const Plan& plan) { Operands(plan).check(); }

}  // namespace octet
