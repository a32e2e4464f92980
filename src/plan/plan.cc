// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "graph/verify.h"
#include "plan/bind.h"
#include "plan/draft.h"
#include "plan/groups.h"
#include "plan/repeats.h"
#include "plan/select.h"
#include "plan/tuning.h"
#include "plan/value_forms.h"

namespace octet {
namespace {

LowerRequest request_for(const Graph& graph, const Node& node, s64 groups,
                         std::vector<Layout> layouts, const Target& target) {
  LowerRequest request{graph, node, {}, {}, std::move(layouts), target};
  for (ValueId id : node.inputs) request.inputs.push_back(type_in_groups(graph, id, groups));
  for (ValueId id : node.outputs) request.outputs.push_back(type_in_groups(graph, id, groups));
  return request;
}

// Adds nodes in their order, each with the kernel that costs least.
class Planner {
 public:
  // `shares`: of each node; empty: the whole batch everywhere.
  Planner(Graph graph, const Target& target, std::vector<BatchShare> shares,
          const CallerMemory& caller, ChainRejects apart = {})
      : draft_(std::move(graph), target, caller),
        forms_(draft_),
        node_shares_(std::move(shares)),
        apart_(std::move(apart)) {
    add_inputs(draft_, forms_);
    for (u32 n = 0; n < plan_.graph.nodes.size(); ++n) add_node(n);
    draft_.share = {};
    add_outputs(draft_, forms_);
  }

  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  const Graph& graph() const { return plan_.graph; }
  const ChainRejects& apart() const { return apart_; }

  // Of each node, the share that costs least with these kernels.
  std::vector<BatchShare> wanted_shares() const {
    std::vector<BatchShare> of_nodes(plan_.graph.nodes.size());
    const std::vector<BatchShare> shares =
        choose_shares(plan_, draft_.candidates, draft_.targets.back());
    for (size_t s = 0; s < shares.size(); ++s) {
      if (plan_.steps[s].node < of_nodes.size()) of_nodes[plan_.steps[s].node] = shares[s];
    }
    return of_nodes;
  }

  // Only kernels for the whole batch can tell that images do not depend on each other: of one image everything is the first.
  void keep_possible(std::vector<BatchShare>& shares) const {
    for (size_t s = 0; s < draft_.candidates.size(); ++s) {
      const u32 node = plan_.steps[s].node;
      if (node < shares.size() && !draft_.candidates[s].by_image) shares[node] = {};
    }
  }

  // Once, when all steps are there.
  Plan finish() {
    const int threads = draft_.targets[kHost].threads;
    size_by_shares(plan_, threads);
    place_buffers(plan_, draft_.candidates);
    hand_over();
    plan_memory(plan_, threads, plan_.devices[kHost]->costs().cache_bytes);
    choose_sharing(plan_, threads);
    order_queues(plan_);
    return std::move(plan_);
  }

 private:
  LowerRequest request(const Node& node, u32 device) const {
    std::vector<Layout> layouts;
    for (ValueId id : node.inputs) layouts.push_back(forms_.layout_for(id, device));
    return request_for(plan_.graph, node, draft_.share.groups, std::move(layouts),
                       draft_.target_of(device));
  }

  Selection select(const Node& node, u32 device) const {
    try {
      return select_kernel(request(node, device), draft_.backend(device));
    } catch (Error& error) {
      error.add_context("planning " + describe(node));
      throw;
    }
  }

  // Of the target's device, or of the host where that has none. Sets `device`.
  Selection select_anywhere(const Node& node, u32& device) const {
    device = static_cast<u32>(draft_.targets.size() - 1);
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
    draft_.share =
        node_shares_.empty() ? BatchShare{} : possible_share(plan_, node, node_shares_[index]);
    u32 device = kHost;
    Selection selection = select_anywhere(node, device);
    if (draft_.share.groups > 1 && !selection.chosen.by_image) {
      draft_.share = {};
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
    if (draft_.targets[device].keep_others) {
      std::erase_if(selection.others, [&](const Candidate& other) {
        return !takes_place_of(candidate, other, draft_.share.groups > 1);
      });
      step.kernels = std::move(selection.others);
      step.kernels.insert(step.kernels.begin(), candidate);
    }
    draft_.push_step(std::move(step), std::move(selection.chosen));
  }

  // The buffers that the step reads, and those that it writes.
  void connect(const Node& node, const Candidate& candidate, PlanStep& step) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      const bool read = id != kNoValue && !candidate.holds_input(i);
      step.inputs.push_back(read ? forms_.buffer_in(id, {candidate.inputs[i], step.device})
                                 : kNoBuffer);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) {
        step.outputs.push_back(kNoBuffer);
        continue;
      }
      step.outputs.push_back(forms_.add_first(id, {candidate.outputs[i], step.device}));
    }
  }

  // Whose memory a step's output may take. Its kernel is kept for whoever binds the plan.
  void hand_over() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      PlanStep& step = plan_.steps[s];
      Candidate& candidate = draft_.candidates[s];
      if (candidate.may_overwrite == nullptr || candidate.may_overwrite(placements(plan_, step))) {
        for (size_t i : candidate.overwrites) step.overwrites.push_back(step.inputs[i]);
      }
      step.candidate = std::move(candidate);
    }
  }

  PlanDraft draft_;
  Plan& plan_ = draft_.plan;
  ValueForms forms_;
  const std::vector<BatchShare> node_shares_;
  const ChainRejects apart_;  // of nodes that might have been a chain's last
};

Planner plan_whole(const Graph& graph, std::span<const Shape> input_shapes, const Target& target,
                   const CallerMemory& caller = {}) {
  Graph concrete = specialize(graph, input_shapes);
  narrow_repeats(concrete);
  if (target.device->backend().relabel_s8) relabel_s8(concrete);
  if (target.device->backend().adapt != nullptr) target.device->backend().adapt(concrete, target);
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
