// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"
#include "graph/verify.h"
#include "plan/bind.h"
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
  // `shares`: of each node.
  Planner(Graph graph, const Target& target, std::vector<BatchShare> shares,
          const CallerMemory& caller, ChainRejects apart = {})
      : targets_{target}, lane_(target), node_shares_(std::move(shares)), apart_(std::move(apart)) {
    plan_.caller = caller;
    lane_.threads = std::min(target.threads, 1 + kMostHelpers);
    // The host's own nodes are planned as if there were no other device.
    targets_[kHost].device = target.host;
    if (target.device != target.host) targets_.push_back(target);
    for (const Target& t : targets_) plan_.devices.push_back(t.device);
    plan_.graph = std::move(graph);
    first_.resize(plan_.graph.value_count());
    const Uses uses(plan_.graph);
    for (u32 i = 0; i < plan_.graph.inputs.size(); ++i) add_input(i, uses);
    for (u32 n = 0; n < plan_.graph.nodes.size(); ++n) add_node(n);
    share_ = {};
    for (u32 i = 0; i < plan_.graph.outputs.size(); ++i) add_output(i);
  }

  const Graph& graph() const { return plan_.graph; }
  const ChainRejects& apart() const { return apart_; }

  // Of each node, the share that costs least with these kernels.
  std::vector<BatchShare> wanted_shares() const {
    std::vector<BatchShare> of_nodes(plan_.graph.nodes.size());
    const std::vector<BatchShare> shares = choose_shares(plan_, candidates_, targets_.back());
    for (size_t s = 0; s < shares.size(); ++s) {
      if (plan_.steps[s].node < of_nodes.size()) of_nodes[plan_.steps[s].node] = shares[s];
    }
    return of_nodes;
  }

  // Only kernels for the whole batch can tell that images do not depend on each other: of one image everything is the first.
  void keep_possible(std::vector<BatchShare>& shares) const {
    for (size_t s = 0; s < candidates_.size(); ++s) {
      const u32 node = plan_.steps[s].node;
      if (node < shares.size() && !candidates_[s].by_image) shares[node] = {};
    }
  }

  // Once, when all steps are there.
  Plan finish() {
    size_by_shares(plan_, targets_[kHost].threads);
    place_buffers(plan_, candidates_);
    hand_over();
    plan_memory(plan_, targets_[kHost].threads, plan_.devices[kHost]->costs().cache_bytes);
    choose_sharing(plan_, targets_[kHost].threads);
    order_queues(plan_);
    return std::move(plan_);
  }

 private:
  // How a value lies, and in whose memory.
  struct Form {
    Layout layout = Layout::linear;
    u32 space = kHost;
    bool callers =
        false;  // the caller's own memory of a device: kernels ask for more than it promises

    auto operator<=>(const Form&) const = default;
  };

  const Backend& backend(u32 device) const { return plan_.devices[device]->backend(); }
  const std::string& name_of(ValueId id) const { return plan_.graph.value(id).name; }

  u32 add_buffer(ValueId value, Form form) {
    const u32 id = static_cast<u32>(plan_.buffers.size());
    Buffer buffer;
    buffer.value = value;
    buffer.space = form.space;
    buffer.placement.layout = form.layout;
    plan_.buffers.push_back(buffer);
    buffer_of_.emplace(std::pair{value, form}, id);
    return id;
  }

  void add_input(u32 index, const Uses& uses) {
    const ValueId id = plan_.graph.inputs[index];
    plan_.input_types.push_back(plan_.graph.value(id).type);
    const u32 space = plan_.caller.of_input(index);
    first_[id] = {Layout::linear, space, space != kHost && !is_read_in_place(index, uses)};
    Buffer& buffer = plan_.buffers[add_buffer(id, first_[id])];
    buffer.kind = Buffer::Kind::input;
    buffer.index = index;
  }

  // A kernel that reads the caller's memory is given anew in each run; what several read is copied, so that they need not be.
  bool is_read_in_place(u32 index, const Uses& uses) const {
    return plan_.caller.is_aligned(index) && uses.consumers(plan_.graph.inputs[index]).size() <= 1;
  }

  // The value as a request to the device gives it: in a layout that the device knows.
  Layout known_layout(Layout layout, u32 device) const {
    const bool known = layout <= Layout::nhwc || backend(device).channel_blocks;
    return known ? layout : Layout::linear;
  }

  // The buffer of a value in a form, copied and converted from its first form where needed.
  u32 buffer_in(ValueId value, Form wanted) {
    if (const auto at = buffer_of_.find({value, wanted}); at != buffer_of_.end()) return at->second;
    if (plan_.graph.is_constant(value)) add_constant(value, wanted.space);
    Form from = first_[value];
    if (from.space != wanted.space || from.callers) {
      // A device turns what the host will read: it has the faster memory.
      const bool to_host = wanted.space == kHost && !from.callers;
      from.layout = to_host ? wanted.layout : known_layout(from.layout, wanted.space);
      const u32 source = whole_buffer_in(value, from);
      from.space = wanted.space;
      from.callers = false;
      cross(value, source, from);
    }
    if (from == wanted) return buffer_of_.at({value, wanted});
    const u32 source = buffer_of_.at({value, from});
    const u32 result = add_buffer(value, wanted);
    push_step({.name = name_of(value) + ".layout",
               .inputs = {source},
               .outputs = {result},
               .device = wanted.space},
              backend(wanted.space)
                  .convert(type_of(plan_.graph, value, share_.groups), from.layout, wanted.layout,
                           target_of(wanted.space)));
    return result;
  }

  // Constants lie in each memory where a step reads them.
  void add_constant(ValueId value, u32 space) {
    first_[value] = {Layout::linear, space};
    if (buffer_of_.contains({value, first_[value]})) return;
    plan_.buffers[add_buffer(value, first_[value])].kind = Buffer::Kind::constant;
  }

  // All images, also where the reader takes them in groups.
  u32 whole_buffer_in(ValueId value, Form wanted) {
    const BatchShare share = std::exchange(share_, {});
    const u32 buffer = buffer_in(value, wanted);
    share_ = share;
    return buffer;
  }

  // Copies all images, also where the reader takes them in groups.
  void cross(ValueId value, u32 source, Form to) {
    if (buffer_of_.contains({value, to})) return;
    push_copy(value, source, add_buffer(value, to), to.layout);
  }

  void push_copy(ValueId value, u32 source, u32 result, Layout layout) {
    const u32 from = plan_.buffers[source].space, to = plan_.buffers[result].space;
    const BatchShare share = std::exchange(share_, {});
    // The queue of the device that is not the host.
    push_step({.name = name_of(value) + (from == to    ? ".copy"
                                         : to == kHost ? ".to_host"
                                                       : ".to_device"),
               .inputs = {source},
               .outputs = {result},
               .device = std::max(to, from)},
              crossing_copy(plan_.graph.value(value).type, layout, from, to));
    share_ = share;
  }

  void push_step(PlanStep step, Candidate candidate) {
    step.kernel = candidate.kernel;
    step.note = candidate.note;
    step.share = share_;
    step.workspace_bytes = candidate.workspace_bytes;
    if (share_.groups > 1) step.note += share_note(plan_, step);
    step.cost = candidate.cost;
    plan_.steps.push_back(std::move(step));
    candidates_.push_back(std::move(candidate));
  }

  LowerRequest request(const Node& node, u32 device) const {
    std::vector<Layout> layouts;
    for (ValueId id : node.inputs) {
      layouts.push_back(id == kNoValue ? Layout::linear : known_layout(first_[id].layout, device));
    }
    return request_for(plan_.graph, node, share_.groups, std::move(layouts), target_of(device));
  }

  Selection select(const Node& node, u32 device) const {
    try {
      return select_kernel(request(node, device), backend(device));
    } catch (Error& error) {
      error.add_context("planning " + describe(node));
      throw;
    }
  }

  // Of the target's device, or of the host where that has none. Sets `device`.
  Selection select_anywhere(const Node& node, u32& device) const {
    device = static_cast<u32>(targets_.size() - 1);
    Selection selection = select(node, device);
    if (selection.found) return selection;
    OCTET_CHECK(device != kHost);
    device = kHost;
    Selection on_host = select(node, kHost);
    // What both say is said once.
    std::erase_if(on_host.rejects, [&](const std::string& reason) {
      return std::ranges::find(selection.rejects, reason) != selection.rejects.end();
    });
    on_host.rejects.insert(on_host.rejects.begin(), selection.rejects.begin(),
                           selection.rejects.end());
    return on_host;
  }

  void add_node(u32 index) {
    const Node& node = plan_.graph.nodes[index];
    share_ = node_shares_.empty() ? BatchShare{} : possible_share(plan_, node, node_shares_[index]);
    u32 device = kHost;
    Selection selection = select_anywhere(node, device);
    if (share_.groups > 1 && !selection.chosen.by_image) {
      share_ = {};
      selection = select_anywhere(node, device);
    }
    LowerRequest asked = request(node, device);
    const Candidate& candidate = selection.chosen;
    OCTET_CHECK(candidate.inputs.size() == node.inputs.size());
    OCTET_CHECK(candidate.outputs.size() == node.outputs.size());
    PlanStep step{.name = node.name,
                  .rejects = std::move(selection.rejects),
                  .node = index,
                  .device = device,
                  .choice = std::move(selection.choice),
                  .given = std::move(asked.layouts)};
    if (const auto apart = apart_.find(node.outputs[0]); apart != apart_.end())
      step.rejects.insert(step.rejects.end(), apart->second.begin(), apart->second.end());
    connect(node, candidate, step);
    if (targets_[device].keep_others) {
      std::erase_if(selection.others, [&](const Candidate& other) {
        return !takes_place_of(candidate, other, share_.groups > 1);
      });
      step.kernels = std::move(selection.others);
      step.kernels.insert(step.kernels.begin(), candidate);
    }
    push_step(std::move(step), std::move(selection.chosen));
  }

  // The buffers that the step reads, and those that it writes.
  void connect(const Node& node, const Candidate& candidate, PlanStep& step) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      const bool read = id != kNoValue && !candidate.holds_input(i);
      step.inputs.push_back(read ? buffer_in(id, {candidate.inputs[i], step.device}) : kNoBuffer);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) {
        step.outputs.push_back(kNoBuffer);
        continue;
      }
      first_[id] = {candidate.outputs[i], step.device};
      step.outputs.push_back(add_buffer(id, first_[id]));
    }
  }

  // The caller's buffer takes the place of the arena buffer that a step writes; else the value is copied.
  void add_output(u32 index) {
    const ValueId id = plan_.graph.outputs[index];
    plan_.output_types.push_back(plan_.graph.value(id).type);
    if (const u32 space = plan_.caller.of_output(index); space != kHost)
      return add_device_output(id, index, space);
    const Backend& host = backend(kHost);
    if (plan_.graph.is_constant(id)) {
      return push_step({.name = name_of(id), .outputs = {add_output_buffer(id, index, kHost)}},
                       host.constant(plan_.graph.value(id).constant));
    }
    const u32 source = buffer_in(id, {});
    Buffer& linear = plan_.buffers[source];
    if (linear.kind == Buffer::Kind::arena) {
      linear.kind = Buffer::Kind::output;
      linear.index = index;
      return;
    }
    push_step(
        {.name = name_of(id) + ".copy",
         .inputs = {source},
         .outputs = {add_output_buffer(id, index, kHost)}},
        host.convert(plan_.output_types.back(), Layout::linear, Layout::linear, targets_[kHost]));
  }

  // Kernels write where they may ask for alignment, and the caller gets a copy where it has not promised that.
  void add_device_output(ValueId id, u32 index, u32 space) {
    const u32 source = buffer_in(id, {Layout::linear, space});
    Buffer& linear = plan_.buffers[source];
    if (plan_.caller.is_in_place(index) && linear.kind == Buffer::Kind::arena) {
      linear.kind = Buffer::Kind::output;
      linear.index = index;
      return;
    }
    push_copy(id, source, add_output_buffer(id, index, space), Layout::linear);
  }

  u32 add_output_buffer(ValueId id, u32 index, u32 space) {
    Buffer buffer;
    buffer.value = id;
    buffer.kind = Buffer::Kind::output;
    buffer.index = index;
    buffer.space = space;
    plan_.buffers.push_back(buffer);
    return static_cast<u32>(plan_.buffers.size() - 1);
  }

  // Whose memory a step's output may take. Its kernel is kept for whoever binds the plan.
  void hand_over() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      PlanStep& step = plan_.steps[s];
      Candidate& candidate = candidates_[s];
      if (candidate.may_overwrite == nullptr || candidate.may_overwrite(placements(plan_, step))) {
        for (size_t i : candidate.overwrites) step.overwrites.push_back(step.inputs[i]);
      }
      step.candidate = std::move(candidate);
    }
  }

  // What the node that is being added is planned for.
  const Target& target_of(u32 device) const { return share_.by_thread ? lane_ : targets_[device]; }

  std::vector<Target> targets_;  // of each device of the plan
  Target lane_;  // for steps of which threads take whole groups: one thread and its helpers
  const std::vector<BatchShare> node_shares_;  // empty: the whole batch everywhere
  BatchShare share_;                           // of the node that is being added
  Plan plan_;
  const ChainRejects apart_;           // of nodes that might have been a chain's last
  std::vector<Form> first_;            // as each value's producer leaves it
  std::vector<Candidate> candidates_;  // of each step
  std::map<std::pair<ValueId, Form>, u32> buffer_of_;
};

Planner plan_whole(const Graph& graph, std::span<const Shape> input_shapes, const Target& target,
                   const CallerMemory& caller = {}) {
  Graph concrete = specialize(graph, input_shapes);
  if (target.device->backend().relabel_s8) relabel_s8(concrete);
  if (target.device->backend().adapt != nullptr) target.device->backend().adapt(concrete);
  ChainRejects apart = join_chains(concrete, target);
  return Planner(std::move(concrete), target, {}, caller, std::move(apart));
}

}  // namespace

s64 Plan::arena_bytes() const {
  s64 bytes = 0;
  for (const Arena& arena : arenas) bytes += arena.bytes;
  return bytes;
}

LowerRequest request_of(const Plan& plan, const PlanStep& step, const Target& target) {
  return request_for(plan.graph, plan.graph.nodes[step.node], step.share.groups, step.given,
                     target);
}

std::string signature_of(const Plan& plan, const PlanStep& step) {
  if (step.node >= plan.graph.nodes.size()) return {};
  const Target target;  // no part of the text
  return layer_signature(request_of(plan, step, target));
}

Plan make_plan(const Graph& graph, std::span<const Shape> input_shapes, const Target& target,
               const CallerMemory& caller) {
  Planner whole = plan_whole(graph, input_shapes, target, caller);
  const std::vector<BatchShare> shares = whole.wanted_shares();
  if (std::ranges::count(shares, BatchShare{}) == std::ssize(shares)) return whole.finish();
  return Planner(whole.graph(), target, shares, caller, whole.apart()).finish();
}

Plan make_plan_in_groups(const Graph& graph, std::span<const Shape> input_shapes,
                         const Target& target, std::vector<BatchShare> shares) {
  const Planner whole = plan_whole(graph, input_shapes, target);
  shares.resize(whole.graph().nodes.size());
  whole.keep_possible(shares);
  return Planner(whole.graph(), target, std::move(shares), {}, whole.apart()).finish();
}

}  // namespace octet
