// SPDX-License-Identifier: Apache-2.0
#include "plan/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "graph/interpret.h"
#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "plan/backend.h"
#include "plan/chain_choice.h"
#include "plan/chain_testing.h"
#include "plan/device.h"
#include "plan/select.h"
#include "plan/tuning.h"

namespace octet {
namespace {

std::atomic<int> dear_chains = 0;

constexpr std::string_view kBody = "body", kKind = "kind", kParts = "parts";

void infer_chain(Inference& inference) {
  const GraphPtr body = inference.node.attrs.graph(kBody);
  for (const ValueId id : body->outputs) inference.outputs.push_back(body->value(id).type);
}

void eval_chain(const Eval& eval) {
  const GraphPtr body = eval.node.attrs.graph(kBody);
  std::vector<Tensor> inputs;
  for (const ConstView& input : eval.inputs) {
    inputs.emplace_back(input.dtype, input.shape);
    std::memcpy(inputs.back().mutable_data(), input.data, inputs.back().bytes());
  }
  const std::vector<Tensor> outputs = interpret(*body, inputs, nullptr, eval.max_bytes);
  for (size_t i = 0; i < outputs.size(); ++i)
    std::memcpy(eval.outputs[i].data, outputs[i].data(), outputs[i].bytes());
}

f64 macs_of_parts(const Node& chain, TensorTypes, TensorTypes) {
  const GraphPtr body = chain.attrs.graph(kBody);
  f64 macs = 0;
  for (const Node& part : body->nodes) {
    macs += static_cast<f64>(
        count_macs(part, types_of(*body, part.inputs), types_of(*body, part.outputs)));
  }
  return macs;
}

constexpr OpTraits kChainTraits{.macs = macs_of_parts};
// In no list: no file can hold one.
constexpr OpDef kChain{.name = "Chain",
                       .domain = "octet",
                       .inputs = {1, -1},
                       .infer = infer_chain,
                       .eval = eval_chain,
                       .traits = &kChainTraits};

// The parts of a graph as a graph of their own.
class BodyMaker {
 public:
  explicit BodyMaker(const Graph& graph) : graph_(graph), body_(std::make_shared<Graph>()) {}

  void add(const Node& node) {
    Node part = node;
    for (ValueId& id : part.inputs) id = inside(id);
    for (ValueId& id : part.outputs) id = copied(id);
    body_->nodes.push_back(std::move(part));
  }

  GraphPtr finish(const std::vector<ValueId>& outputs) {
    for (const ValueId id : outputs) body_->outputs.push_back(inside(id));
    return std::move(body_);
  }

  const std::vector<ValueId>& inputs() const { return inputs_; }  // of the graph

 private:
  ValueId inside(ValueId id) {
    if (id == kNoValue) return id;
    if (const auto at = values_.find(id); at != values_.end()) return at->second;
    if (!graph_.is_constant(id)) {
      inputs_.push_back(id);
      body_->inputs.push_back(copied(id));
      return body_->inputs.back();
    }
    const ValueId own = copied(id);
    body_->value(own).constant = graph_.value(id).constant;
    return own;
  }

  ValueId copied(ValueId id) {
    if (id == kNoValue) return id;
    const Value& value = graph_.value(id);
    const ValueId own = body_->add_value(value.name, value.type);
    body_->value(own).quant = value.quant;
    return values_[id] = own;
  }

  const Graph& graph_;
  std::shared_ptr<Graph> body_;
  std::unordered_map<ValueId, ValueId> values_;  // of the graph, as the body knows them
  std::vector<ValueId> inputs_;
};

LowerRequest request_alone(const Graph& graph, const Node& node, const Target& target) {
  LowerRequest request{graph, node,  types_of(graph, node.inputs), types_of(graph, node.outputs),
                       {},    target};
  for (const TensorType& type : request.inputs)
    request.layouts.push_back(type.shape.rank() == 4 && type.dtype != Dtype::f32 ? Layout::nhwc
                                                                                 : Layout::linear);
  return request;
}

// Of the best kernel; of one that names no cost, and of a node that the host runs, by its bytes. Layouts are not known yet, so none is counted that a kernel might have to change, here or in a chain.
f64 cost_alone(const LowerRequest& request) {
  const Selection selection = select_kernel(request, request.target.device->backend());
  const f64 cost = selection.found ? selection.chosen.cost : 0;
  if (cost > 0) return cost;
  const DeviceRates rates = request.target.device->rates();
  f64 bytes = request.target.device->costs().start_bytes;
  for (const TensorType& type : request.inputs) bytes += static_cast<f64>(type.bytes());
  for (const TensorType& type : request.outputs) bytes += static_cast<f64>(type.bytes());
  return rates.bytes_per_us > 0 ? bytes / rates.bytes_per_us * rates.cycles_per_us : bytes;
}

// Why a part of the chain is nothing for kernels; empty where all are.
std::string needs_reference_inside(const LowerRequest& chain) {
  std::string reason;
  for (size_t i = 0; reason.empty() && i < chain_body(chain.node).nodes.size(); ++i)
    reason = needs_reference(part_request(chain, i));
  return reason;
}

f64 least_cost(const LowerRequest& request, const Offer& offer) {
  const Candidates* several = std::get_if<Candidates>(&offer);
  const std::span<const Candidate> all =
      several != nullptr ? std::span<const Candidate>(*several)
                         : std::span<const Candidate>(&std::get<Candidate>(offer), 1);
  const f64 cost = all[cheapest(request, all)].cost;
  OCTET_CHECK(cost > 0);  // it is compared with that of the parts
  return cost;
}

struct FoundChain {
  const ChainRule* rule;
  ChainOffer offer;
  ValueId kept;  // kNoValue: only the last node's value leaves it
  Node node;
};

class Joiner {
 public:
  Joiner(Graph& graph, const Target& target) : graph_(graph), target_(target), uses_(graph) {
    // Estimates are compared with estimates: a measured choice among the kernels of a part, or of a chain, decides nothing here.
    target_.tuning = nullptr;
    target_.keep_others = false;
  }

  ChainRejects run() {
    std::vector<FoundChain> found;
    for (u32 n = 0; n < graph_.nodes.size(); ++n) {
      for (const ChainRule& rule : target_.device->backend().chains) {
        if (std::optional<FoundChain> chain = examine(rule, n)) found.push_back(std::move(*chain));
      }
    }
    replace(found);
    return std::move(rejects_);
  }

 private:
  void replace(std::vector<FoundChain>& found) {
    std::vector<ChainOffer> offers;
    for (const FoundChain& chain : found) offers.push_back(chain.offer);
    const std::vector<bool> taken = choose_chains(offers, graph_.nodes.size());
    std::vector<u32> erased;
    for (size_t i = 0; i < found.size(); ++i) {
      const std::vector<u32>& nodes = offers[i].nodes;
      if (!taken[i]) {
        reject(nodes.back(), *found[i].rule, "other chains save more");
        continue;
      }
      erased.insert(erased.end(), nodes.begin(), nodes.end() - 1);
      graph_.nodes[nodes.back()] = std::move(found[i].node);
    }
    erase_nodes(graph_, std::move(erased));
  }

  std::optional<FoundChain> examine(const ChainRule& rule, u32 last) {
    std::vector<u32> nodes = rule.find(graph_, uses_, last);
    if (nodes.size() < 2) return {};
    const ValueId kept = rule.keeps ? kept_of(nodes) : kNoValue;
    if (rule.keeps && kept == kNoValue) {
      reject(last, rule, "no value of it is read behind it alone");
      return {};
    }
    if (const ValueId open = read_elsewhere(nodes, rule.forks, kept); open != kNoValue) {
      reject(last, rule, fmt::format("'{}' is read elsewhere too", graph_.value(open).name));
      return {};
    }
    FoundChain found{&rule, {std::move(nodes)}, kept, {}};
    found.node = make_node(found);
    const LowerRequest request = request_alone(graph_, found.node, target_);
    if (const std::string reason = needs_reference_inside(request); !reason.empty()) {
      reject(last, rule, reason);
      return {};
    }
    const Offer offer = rule.offer(request);
    if (const Reject* reason = std::get_if<Reject>(&offer)) {
      reject(last, rule, reason->reason);
      return {};
    }
    const f64 cost = least_cost(request, offer), apart = cost_apart(request);
    found.offer.saves = dear_chains > 0 ? static_cast<f64>(found.offer.nodes.size()) : apart - cost;
    if (found.offer.saves > 0) return found;
    reject(last, rule, fmt::format("costs {:.2f} times as much as its parts", cost / apart));
    return {};
  }

  Node make_node(const FoundChain& found) const {
    const Node& last = graph_.nodes[found.offer.nodes.back()];
    Node node;
    node.op = &kChain;
    node.outputs = last.outputs;
    if (found.kept != kNoValue) node.outputs.push_back(found.kept);
    node.decision = last.decision;
    BodyMaker body(graph_);
    for (const u32 n : found.offer.nodes) {
      const Node& part = graph_.nodes[n];
      body.add(part);
      node.name += (node.name.empty() ? "" : " + ") + part.name;
      node.origins.insert(node.origins.end(), part.origins.begin(), part.origins.end());
    }
    node.inputs = body.inputs();
    node.attrs.set(kBody, body.finish(node.outputs));
    node.attrs.set(kKind, std::string(found.rule->name));
    node.attrs.set(kParts, signatures(node));
    return node;
  }

  // What tuning tells chains of one kind apart by.
  std::vector<std::string> signatures(const Node& chain) const {
    const LowerRequest whole = request_alone(graph_, chain, target_);
    std::vector<std::string> texts;
    for (size_t i = 0; i < chain_body(chain).nodes.size(); ++i)
      texts.push_back(layer_signature(part_request(whole, i)));
    return texts;
  }

  f64 cost_apart(const LowerRequest& chain) const {
    f64 cost = 0;
    for (size_t i = 0; i < chain_body(chain.node).nodes.size(); ++i)
      cost += cost_alone(part_request(chain, i));
    return cost;
  }

  void reject(u32 last, const ChainRule& rule, const std::string& reason) {
    rejects_[graph_.nodes[last].outputs[0]].push_back(fmt::format("{}: {}", rule.name, reason));
  }

  // The first value that is read inside and by nodes behind the last one, which stands where the chain will.
  ValueId kept_of(const std::vector<u32>& nodes) const {
    for (const u32 n : nodes) {
      if (n == nodes.back()) break;
      for (const ValueId id : graph_.nodes[n].outputs) {
        if (id != kNoValue && is_kept(id, nodes)) return id;
      }
    }
    return kNoValue;
  }
  bool is_kept(ValueId id, const std::vector<u32>& nodes) const {
    s64 inside = 0, behind = 0;
    for (const u32 reader : uses_.consumers(id)) {
      if (std::ranges::binary_search(nodes, reader)) {
        ++inside;
      } else if (reader > nodes.back()) {
        ++behind;
      } else {
        return false;
      }
    }
    return !uses_.is_output(id) && inside == 1 && behind > 0;
  }

  // Each value that passes inside is read there, once unless they fork, and nowhere else unless it is kept: kNoValue. Else one that is not.
  ValueId read_elsewhere(const std::vector<u32>& nodes, bool forks, ValueId kept) const {
    OCTET_CHECK(std::ranges::adjacent_find(nodes, std::greater_equal{}) == nodes.end());
    for (const u32 n : nodes) {
      if (n == nodes.back()) break;
      for (const ValueId id : graph_.nodes[n].outputs) {
        if (id == kNoValue || id == kept || read_once_inside(id, nodes)) continue;
        if (!forks || !read_inside(id, nodes)) return id;
      }
    }
    const std::vector<ValueId>& results = graph_.nodes[nodes.back()].outputs;
    return results.size() == 1 ? kNoValue : results[0];
  }

  // A node that reads it twice, as operand and as residual, reads it twice.
  bool read_once_inside(ValueId id, const std::vector<u32>& nodes) const {
    const s32 reader = uses_.only_consumer(id);
    if (reader < 0 || !std::ranges::binary_search(nodes, static_cast<u32>(reader))) return false;
    return std::ranges::count(graph_.nodes[static_cast<size_t>(reader)].inputs, id) == 1;
  }

  bool read_inside(ValueId id, const std::vector<u32>& nodes) const {
    return !uses_.is_output(id) && !uses_.consumers(id).empty() &&
           std::ranges::all_of(uses_.consumers(id), [&](u32 reader) {
             return std::ranges::binary_search(nodes, reader);
           });
  }

  Graph& graph_;
  Target target_;
  const Uses uses_;
  ChainRejects rejects_;
};

}  // namespace

test::DearChains::DearChains() { ++dear_chains; }
test::DearChains::~DearChains() { --dear_chains; }

bool is_chain(const Node& node) { return node.op == &kChain; }

std::string chain_kind(const Node& chain) { return chain.attrs.s(kKind, ""); }

const Graph& chain_body(const Node& chain) { return *std::get<GraphPtr>(*chain.attrs.find(kBody)); }

std::optional<size_t> chain_input(const Node& chain, ValueId value) {
  const std::vector<ValueId>& inputs = chain_body(chain).inputs;
  const auto at = std::ranges::find(inputs, value);
  if (at == inputs.end()) return std::nullopt;
  return static_cast<size_t>(at - inputs.begin());
}

const ChainRule* rule_of(const Node& chain, const Backend& backend) {
  if (!is_chain(chain)) return nullptr;
  const std::string kind = chain_kind(chain);
  const auto at = std::ranges::find(backend.chains, kind, &ChainRule::name);
  return at == backend.chains.end() ? nullptr : &*at;
}

LowerRequest part_request(const LowerRequest& chain, size_t part) {
  const Graph& body = chain_body(chain.node);
  return request_alone(body, body.nodes[part], chain.target);
}

ChainRejects join_chains(Graph& graph, const Target& target) {
  if (!target.chains || target.device->backend().chains.empty()) return {};
  return Joiner(graph, target).run();
}

}  // namespace octet
