// SPDX-License-Identifier: Apache-2.0
#include "plan/print_plan.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace octet {
namespace {

std::string place_text(const Plan& plan, const Buffer& buffer) {
  if (buffer.kind == Buffer::Kind::input) return fmt::format("input {}", buffer.index);
  if (buffer.kind == Buffer::Kind::output) return fmt::format("output {}", buffer.index);
  if (buffer.kind == Buffer::Kind::constant) return "constant";
  std::string text = fmt::format("{} {}", buffer.sliced ? "in slices at" : "at", buffer.offset);
  if (buffer.origin_bytes != 0) text += fmt::format("+{}", buffer.origin_bytes);
  if (buffer.same_as == kNoBuffer) return text;
  const Value& shared = plan.graph.value(plan.buffers[buffer.same_as].value);
  return text + " with " + shared.name;
}

std::string form_text(const TensorType& type, const Placement& placement) {
  std::string text(layout_name(placement.layout));
  if (placement.border != 0) text += fmt::format(" border {}", placement.border);
  const bool slice = placement.layout == Layout::nhwc && placement.pixel_stride != type.shape[1];
  if (slice) text += fmt::format(" every {}", placement.pixel_stride);
  return text;
}

std::string buffer_text(const Plan& plan, u32 b) {
  const Buffer& buffer = plan.buffers[b];
  const Value& value = plan.graph.value(buffer.value);
  std::string text = fmt::format("{} {} {}", value.name, to_string(value.type),
                                 form_text(value.type, buffer.placement));
  if (buffer.groups > 1) text += fmt::format(" of {} groups", buffer.groups);
  if (buffer.space != kHost) text += fmt::format(" in memory {}", buffer.space);
  return text + ", " + place_text(plan, buffer);
}

std::string buffers_text(const Plan& plan, std::string_view what, const std::vector<u32>& buffers) {
  std::string text;
  for (u32 b : buffers) {
    if (b != kNoBuffer) text += fmt::format("  {} {}\n", what, buffer_text(plan, b));
  }
  return text;
}

std::string share_text(const BatchShare& share) {
  if (share.groups <= 1 && !share.by_thread) return {};
  return fmt::format(", {} groups{}", share.groups, share.by_thread ? " by thread" : "");
}

std::string step_text(const Plan& plan, const PlanStep& step) {
  const bool is_node = step.node < plan.graph.nodes.size();
  const std::string_view op = is_node ? plan.graph.nodes[step.node].op->name : "move";
  std::string text = fmt::format("{} '{}': {}", op, step.name, step.kernel);
  if (const std::string choice = to_string(step.choice); !choice.empty()) text += ", " + choice;
  if (step.cost > 0) text += fmt::format(", cost {:.0f}", step.cost);
  text += share_text(step.share);
  if (step.workspace_bytes > 0) text += fmt::format(", workspace {}", step.workspace_bytes);
  if (step.device != kHost) text += fmt::format(", on device {}", step.device);
  if (step.sharing == Sharing::alone) text += ", one thread";
  if (step.sharing == Sharing::pieces) text += ", whole pieces";
  return text + "\n" + buffers_text(plan, "reads ", step.inputs) +
         buffers_text(plan, "writes", step.outputs);
}

}  // namespace

std::string print_plan(const Plan& plan) {
  std::string text;
  for (const PlanStep& step : plan.steps) text += step_text(plan, step);
  for (size_t d = 0; d < plan.arenas.size(); ++d)
    text += fmt::format("memory {}: {} bytes\n", d, plan.arenas[d].bytes);
  if (plan.slices.count > 0)
    text += fmt::format("{} slices of {} bytes\n", plan.slices.count, plan.slices.bytes);
  return text;
}

}  // namespace octet
