// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "core/check.h"
#include "graph/verify.h"
#include "plan/groups.h"
#include "plan/select.h"
#include "plan/tuning.h"

namespace octet {
namespace {

// As a step in groups sees the value.
TensorType type_of(const Graph& graph, ValueId id, s64 groups) {
  if (id == kNoValue) return {};
  const TensorType& type = graph.value(id).type;
  return graph.is_constant(id) ? type : group_type(type, groups);
}

LowerRequest request_for(const Graph& graph, const Node& node, s64 groups,
                         std::vector<Layout> layouts, const Target& target) {
  LowerRequest request{graph, node, {}, {}, std::move(layouts), target};
  for (ValueId id : node.inputs) request.inputs.push_back(type_of(graph, id, groups));
  for (ValueId id : node.outputs) request.outputs.push_back(type_of(graph, id, groups));
  return request;
}

class Planner {
 public:
  // `groups`: of each node; see PlanStep::groups.
  Planner(Graph graph, const Backend& backend, const Target& target, std::vector<s64> groups)
      : backend_(backend), target_(target), node_groups_(std::move(groups)) {
    plan_.graph = std::move(graph);
    layout_.assign(plan_.graph.value_count(), Layout::linear);
    for (u32 i = 0; i < plan_.graph.inputs.size(); ++i) add_input(i);
    for (u32 n = 0; n < plan_.graph.nodes.size(); ++n) add_node(n);
    groups_ = 1;
    for (u32 i = 0; i < plan_.graph.outputs.size(); ++i) add_output(i);
  }

  const Graph& graph() const { return plan_.graph; }

  // Of each node, the groups that cost least with these kernels.
  std::vector<s64> wanted_groups() const {
    std::vector<s64> of_nodes(plan_.graph.nodes.size(), 1);
    const std::vector<s64> groups = choose_groups(plan_, candidates_, target_);
    for (size_t s = 0; s < groups.size(); ++s) {
      if (plan_.steps[s].node < of_nodes.size()) of_nodes[plan_.steps[s].node] = groups[s];
    }
    return of_nodes;
  }

  // Only kernels for the whole batch can tell that images do not depend on each other: of one image everything is the first.
  void keep_possible(std::vector<s64>& groups) const {
    for (size_t s = 0; s < candidates_.size(); ++s) {
      const u32 node = plan_.steps[s].node;
      if (node < groups.size() && !candidates_[s].by_image) groups[node] = 1;
    }
  }

  // Once, when all steps are there.
  Plan finish() {
    size_by_groups(plan_);
    choose_borders();
    size_buffers();
    share_bytes();
    join_channels();
    bind();
    plan_memory(plan_);
    choose_alone(plan_);
    return std::move(plan_);
  }

 private:
  u32 add_buffer(ValueId value, Layout layout) {
    const u32 id = static_cast<u32>(plan_.buffers.size());
    Buffer buffer;
    buffer.value = value;
    buffer.placement.layout = layout;
    plan_.buffers.push_back(buffer);
    buffer_of_.emplace(std::pair{value, layout}, id);
    return id;
  }

  void add_input(u32 index) {
    const ValueId id = plan_.graph.inputs[index];
    plan_.input_types.push_back(plan_.graph.value(id).type);
    Buffer& buffer = plan_.buffers[add_buffer(id, Layout::linear)];
    buffer.kind = Buffer::Kind::input;
    buffer.index = index;
  }

  // The buffer of a value in a layout, converting from its first layout where needed.
  u32 buffer_in(ValueId value, Layout layout) {
    if (const auto at = buffer_of_.find({value, layout}); at != buffer_of_.end()) return at->second;
    const Layout from = layout_[value];
    const u32 source = buffer_of_.at({value, from});
    const u32 result = add_buffer(value, layout);
    push_step(plan_.graph.value(value).name + ".layout", std::numeric_limits<u32>::max(), {source},
              {result},
              backend_.convert(type_of(plan_.graph, value, groups_), from, layout, target_));
    return result;
  }

  void push_step(std::string name, u32 node, std::vector<u32> inputs, std::vector<u32> outputs,
                 Candidate candidate) {
    PlanStep step;
    step.name = std::move(name);
    step.kernel = candidate.kernel;
    step.note = candidate.note;
    step.node = node;
    step.groups = groups_;
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.workspace_bytes = candidate.workspace_bytes;
    if (groups_ > 1) step.note += group_note(plan_, step);
    step.cost = candidate.cost;
    plan_.steps.push_back(std::move(step));
    candidates_.push_back(std::move(candidate));
  }

  LowerRequest request(const Node& node) const {
    std::vector<Layout> layouts;
    for (ValueId id : node.inputs) layouts.push_back(id == kNoValue ? Layout::linear : layout_[id]);
    return request_for(plan_.graph, node, groups_, std::move(layouts), target_);
  }

  Selection select(const Node& node) const {
    try {
      return select_kernel(request(node), backend_);
    } catch (Error& error) {
      error.add_context("planning " + describe(node));
      throw;
    }
  }

  void add_node(u32 index) {
    const Node& node = plan_.graph.nodes[index];
    groups_ = node_groups_.empty() ? 1 : possible_groups(plan_, node, node_groups_[index]);
    Selection selection = select(node);
    if (groups_ > 1 && !selection.chosen.by_image) {
      groups_ = 1;
      selection = select(node);
    }
    LowerRequest asked = request(node);
    Candidate& candidate = selection.chosen;
    OCTET_CHECK(candidate.inputs.size() == node.inputs.size());
    OCTET_CHECK(candidate.outputs.size() == node.outputs.size());
    std::vector<u32> inputs, outputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      const bool read = id != kNoValue && !plan_.graph.is_constant(id);
      inputs.push_back(read ? buffer_in(id, candidate.inputs[i]) : kNoBuffer);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) {
        outputs.push_back(kNoBuffer);
        continue;
      }
      layout_[id] = candidate.outputs[i];
      outputs.push_back(add_buffer(id, candidate.outputs[i]));
    }
    push_step(node.name, index, std::move(inputs), std::move(outputs), std::move(candidate));
    PlanStep& step = plan_.steps.back();
    step.rejects = std::move(selection.rejects);
    step.choice = std::move(selection.choice);
    step.given = std::move(asked.layouts);
    if (!target_.keep_others) return;
    step.kernels = std::move(selection.others);
    step.kernels.insert(step.kernels.begin(), candidates_.back());
  }

  // The caller's buffer takes the place of the arena buffer that a step writes; else the value is copied.
  void add_output(u32 index) {
    const ValueId id = plan_.graph.outputs[index];
    const TensorType& type = plan_.graph.value(id).type;
    plan_.output_types.push_back(type);
    if (plan_.graph.is_constant(id)) {
      push_constant(id, index);
      return;
    }
    Buffer& linear = plan_.buffers[buffer_in(id, Layout::linear)];
    if (linear.kind == Buffer::Kind::arena) {
      linear.kind = Buffer::Kind::output;
      linear.index = index;
      return;
    }
    const u32 source = buffer_of_.at({id, Layout::linear});
    const u32 result = add_output_buffer(id, index);
    push_step(plan_.graph.value(id).name + ".copy", std::numeric_limits<u32>::max(), {source},
              {result}, backend_.convert(type, Layout::linear, Layout::linear, target_));
  }

  u32 add_output_buffer(ValueId id, u32 index) {
    Buffer buffer;
    buffer.value = id;
    buffer.kind = Buffer::Kind::output;
    buffer.index = index;
    plan_.buffers.push_back(buffer);
    return static_cast<u32>(plan_.buffers.size() - 1);
  }

  void push_constant(ValueId id, u32 index) {
    const Tensor tensor = plan_.graph.value(id).constant;
    Candidate copy;
    copy.kernel = "constant";
    copy.outputs = {Layout::linear};
    copy.bind = [tensor](const BindArgs&) -> RunStep {
      return [tensor](const StepArgs& args) {
        std::memcpy(args.outputs[0], tensor.data(), tensor.bytes());
      };
    };
    push_step(plan_.graph.value(id).name, std::numeric_limits<u32>::max(), {},
              {add_output_buffer(id, index)}, std::move(copy));
  }

  // A buffer gets the border that its readers want where its writer and all its readers can live with it.
  void choose_borders() {
    std::vector<s64> wanted(plan_.buffers.size(), 0);
    std::vector<bool> possible(plan_.buffers.size(), true);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      const Candidate& candidate = candidates_[s];
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        const u32 b = step.inputs[i];
        if (b == kNoBuffer) continue;
        if (i == 0) wanted[b] = std::max(wanted[b], candidate.wanted_border);
        if (!candidate.strided) possible[b] = false;
      }
      for (u32 b : step.outputs) {
        if (b != kNoBuffer && !candidate.strided) possible[b] = false;
      }
    }
    for (size_t b = 0; b < wanted.size(); ++b) {
      Buffer& buffer = plan_.buffers[b];
      const bool codes = plan_.graph.value(buffer.value).type.dtype == Dtype::u8 &&
                         plan_.graph.value(buffer.value).quant;
      const bool free =
          buffer.kind == Buffer::Kind::arena && buffer.placement.layout == Layout::nhwc;
      if (free && codes && possible[b]) buffer.placement.border = wanted[b];
    }
  }

  void size_buffers() {
    for (Buffer& buffer : plan_.buffers) {
      const TensorType& type = plan_.graph.value(buffer.value).type;
      const s64 element = static_cast<s64>(dtype_bytes(type.dtype));
      const s64 border = buffer.placement.border;
      buffer.placement = dense_placement(type, buffer.placement.layout, border);
      buffer.bytes = type.bytes() / buffer.groups;
      if (border == 0) continue;
      buffer.bytes = type.shape[0] / buffer.groups * buffer.placement.image_stride * element;
      buffer.origin_bytes =
          (border * buffer.placement.row_stride + border * buffer.placement.pixel_stride) * element;
    }
  }

  // What only changes the shape of a value needs no memory of its own.
  void share_bytes() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (!candidates_[s].same_bytes) continue;
      const u32 from = plan_.steps[s].inputs[0];
      Buffer& result = plan_.buffers[plan_.steps[s].outputs[0]];
      if (from == kNoBuffer || result.kind != Buffer::Kind::arena) continue;
      const Buffer& source = plan_.buffers[from];
      if (source.bytes != result.bytes || source.origin_bytes != 0 || result.origin_bytes != 0)
        continue;
      result.kind = source.kind;
      result.index = source.index;
      if (source.kind == Buffer::Kind::arena)
        result.same_as = source.same_as == kNoBuffer ? from : source.same_as;
    }
  }

  // Inputs of a concatenation are written where they belong in its output.
  void join_channels() {
    const std::vector<bool> possible = possible_slices();
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (!candidates_[s].joins_channels) continue;
      const u32 out = plan_.steps[s].outputs[0];
      const Buffer& whole = plan_.buffers[out];
      if (whole.kind != Buffer::Kind::arena || whole.same_as != kNoBuffer) continue;
      if (whole.placement.border != 0) continue;
      s64 channel = 0;
      for (u32 in : plan_.steps[s].inputs) {
        Buffer& part = plan_.buffers[in];
        const TensorType& type = plan_.graph.value(part.value).type;
        // A part of which one group is kept may lie in a whole of which all are, but not the other way round.
        const bool held = whole.groups == part.groups || whole.groups == 1;
        if (possible[in] && held && part.same_as == kNoBuffer) {
          part.placement = whole.placement;
          part.same_as = out;
          part.groups = whole.groups;
          part.origin_bytes = channel * static_cast<s64>(dtype_bytes(type.dtype));
        }
        channel += type.shape[1];
      }
    }
  }

  // Buffers whose writer and readers take any strides, that no other shares and that are not joined themselves.
  std::vector<bool> possible_slices() const {
    std::vector<bool> possible(plan_.buffers.size());
    for (size_t b = 0; b < possible.size(); ++b)
      possible[b] =
          plan_.buffers[b].kind == Buffer::Kind::arena && plan_.buffers[b].origin_bytes == 0;
    for (const Buffer& buffer : plan_.buffers) {
      if (buffer.same_as != kNoBuffer) possible[buffer.same_as] = false;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (u32 b : plan_.steps[s].outputs) {
        if (b != kNoBuffer && !candidates_[s].writes_slices) possible[b] = false;
      }
      for (u32 b : plan_.steps[s].inputs) {
        if (b != kNoBuffer && !candidates_[s].strided) possible[b] = false;
      }
    }
    return possible;
  }

  void bind() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      PlanStep& step = plan_.steps[s];
      BindArgs args;
      for (u32 b : step.inputs)
        args.inputs.push_back(b == kNoBuffer ? Placement{} : plan_.buffers[b].placement);
      for (u32 b : step.outputs)
        args.outputs.push_back(b == kNoBuffer ? Placement{} : plan_.buffers[b].placement);
      step.run = candidates_[s].bind(args);
      const Candidate& candidate = candidates_[s];
      if (candidate.may_overwrite == nullptr || candidate.may_overwrite(args)) {
        for (size_t i : candidate.overwrites) step.overwrites.push_back(step.inputs[i]);
      }
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        if (step.outputs[i] != kNoBuffer && args.outputs[i].border > 0)
          step.run = with_border(plan_, step, i, std::move(step.run));
      }
    }
  }

  const Backend& backend_;
  const Target& target_;
  const std::vector<s64> node_groups_;  // empty: the whole batch everywhere
  s64 groups_ = 1;                      // of the node that is being added
  Plan plan_;
  std::vector<Layout> layout_;         // the layout that each value's producer leaves
  std::vector<Candidate> candidates_;  // of each step
  std::map<std::pair<ValueId, Layout>, u32> buffer_of_;
};

Planner plan_whole(const Graph& graph, std::span<const Shape> input_shapes, const Backend& backend,
                   const Target& target) {
  Graph concrete = specialize(graph, input_shapes);
  if (backend.relabel_s8) relabel_s8(concrete);
  return Planner(std::move(concrete), backend, target, {});
}

}  // namespace

Placement dense_placement(const TensorType& type, Layout layout, s64 border) {
  Placement placement{.layout = layout};
  if (layout == Layout::linear) return placement;
  OCTET_CHECK(type.shape.rank() == 4);
  placement.border = border;
  placement.pixel_stride = type.shape[1];
  placement.row_stride = (type.shape[3] + 2 * border) * placement.pixel_stride;
  placement.image_stride = (type.shape[2] + 2 * border) * placement.row_stride;
  return placement;
}

std::string signature_of(const Plan& plan, const PlanStep& step) {
  if (step.choice.empty()) return {};
  const Target target;  // no part of the text
  return layer_signature(
      request_for(plan.graph, plan.graph.nodes[step.node], step.groups, step.given, target));
}

Plan make_plan(const Graph& graph, std::span<const Shape> input_shapes, const Backend& backend,
               const Target& target) {
  Planner whole = plan_whole(graph, input_shapes, backend, target);
  const std::vector<s64> groups = whole.wanted_groups();
  if (std::ranges::count(groups, 1) == std::ssize(groups)) return whole.finish();
  return Planner(whole.graph(), backend, target, groups).finish();
}

Plan make_plan_in_groups(const Graph& graph, std::span<const Shape> input_shapes,
                         const Backend& backend, const Target& target, std::vector<s64> groups) {
  const Planner whole = plan_whole(graph, input_shapes, backend, target);
  groups.resize(whole.graph().nodes.size(), 1);
  whole.keep_possible(groups);
  return Planner(whole.graph(), backend, target, std::move(groups)).finish();
}

}  // namespace octet
