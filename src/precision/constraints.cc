// SPDX-License-Identifier: Apache-2.0
// Patterns to layers. A fused layer has one type: a name of one of its ONNX nodes counts before patterns, the last pattern that matches
// one of them before others.
#include "precision/constraints.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>

#include "core/check.h"
#include "core/glob.h"
#include "octet/closest.h"
#include "precision/precision.h"
#include "precision/roles.h"

namespace octet {
namespace {

using Constraints = std::span<const PrecisionConstraint>;

constexpr size_t kNone = static_cast<size_t>(-1);

// The constraint that counts for a node or a layer: where it stands in the list, and whether it is a name.
struct Winner {
  size_t at = kNone;
  bool named = false;

  void offer(size_t other, bool other_named) {
    if (other == kNone) return;
    const bool better =
        at == kNone || (other_named && !named) || (other_named == named && other > at);
    if (better) *this = {other, other_named};
  }
};

// Of one ONNX node, for the types computed in and for those given.
struct Matched {
  Winner computes, gives;
};

struct NodeMatch {
  std::string name;
  Matched matched;
};

std::vector<std::string> onnx_nodes(const Node& node) {
  return node.origins.empty() ? std::vector{node.name} : node.origins;
}

class Matcher {
 public:
  Matcher(const Graph& graph, const PrecisionPlan& plan, bool carries_qdq,
          const NodeOperators* operators)
      : graph_(graph),
        plan_(plan),
        list_(plan.constraints),
        carries_qdq_(carries_qdq),
        operators_(operators),
        kept_(graph, plan.keep_float),
        names_(node_names(graph)),
        used_(list_.size(), false) {
    find_named();
  }

  Requests run() {
    Requests requests;
    requests.layers.resize(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) ask(n, requests);
    find_unused();
    find_repeated();
    find_unmade();
    if (!wrong_.empty()) throw_wrong();
    return requests;
  }

 private:
  static bool is_pattern(std::string_view text) {
    return text.find_first_of("*?") != std::string_view::npos;
  }

  // By exact names first: most constraints of a long list are names.
  void find_named() {
    for (size_t c = 0; c < list_.size(); ++c) {
      by_name_[list_[c].pattern].push_back(c);
      if (is_pattern(list_[c].pattern)) patterns_.push_back(c);
    }
  }

  void offer(Matched& matched, size_t c, bool named) {
    used_[c] = true;
    (list_[c].output ? matched.gives : matched.computes).offer(c, named);
  }

  void offer_named(Matched& matched, const std::string& name, bool named) {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return;
    for (const size_t c : at->second) offer(matched, c, named);
  }

  // A name that a node has too means that node.
  void offer_operator(Matched& matched, std::string_view op) {
    if (!names_.contains(op)) offer_named(matched, std::string(op), false);
  }

  // Operators that the pattern is not about are skipped in silence: indices and shapes have no such types.
  Matched match(const Node& layer, const std::string& onnx_node, bool is_real) {
    Matched matched;
    offer_named(matched, onnx_node, true);
    if (std::ranges::find(layer.origins, layer.name) == layer.origins.end())
      offer_named(matched, layer.name, true);
    Matched general;
    offer_operator(general, layer.op->name);
    if (operators_ != nullptr) {
      if (const auto at = operators_->find(onnx_node); at != operators_->end())
        offer_operator(general, at->second);
    }
    for (const size_t c : patterns_) {
      const std::string& pattern = list_[c].pattern;
      if (glob_matches(pattern, onnx_node) || glob_matches(pattern, layer.name))
        offer(general, c, false);
    }
    if (!is_real) return matched;
    matched.computes.offer(general.computes.at, general.computes.named);
    matched.gives.offer(general.gives.at, general.gives.named);
    return matched;
  }

  Precision precision_at(size_t c) const {
    return c == kNone ? Precision::none : list_[c].precision;
  }
  // Of a node: a name of its layer counts before what was asked of the node in general.
  Precision precision_of(const Winner& node, const Winner& layer) const {
    const bool overruled = node.at != kNone && !node.named && layer.named;
    return precision_at(overruled ? layer.at : node.at);
  }
  std::string text_at(size_t c) const { return c == kNone ? "" : to_string(list_[c]); }

  // Names of two nodes of one layer with two types.
  void join(Winner& layer, const Winner& node, const Node& of) {
    if (layer.named && node.named && precision_at(layer.at) != precision_at(node.at)) {
      wrong_.insert(fmt::format("'{}' and '{}' are one layer, '{}', and have one type",
                                text_at(layer.at), text_at(node.at), of.name));
    }
    layer.offer(node.at, node.named);
  }

  void ask(size_t n, Requests& requests) {
    const Node& node = graph_.nodes[n];
    const ValueId id = node.outputs.empty() ? kNoValue : node.outputs[0];
    const bool real = id != kNoValue && is_real(graph_.value(id).type);
    Matched layer;
    std::vector<NodeMatch> nodes;
    for (const std::string& name : onnx_nodes(node)) {
      const NodeMatch& last = nodes.emplace_back(NodeMatch{name, match(node, name, real)});
      join(layer.computes, last.matched.computes, node);
      join(layer.gives, last.matched.gives, node);
    }
    for (const auto& [name, matched] : nodes) {
      const NodeRequest request{name, precision_of(matched.computes, layer.computes),
                                precision_of(matched.gives, layer.gives)};
      if (request.precision != Precision::none || request.output != Precision::none)
        requests.nodes.push_back(request);
    }
    requests.layers[n] = {precision_at(layer.computes.at), precision_at(layer.gives.at),
                          text_at(layer.computes.at), text_at(layer.gives.at)};
    find_kept(node, requests.layers[n]);
  }

  void find_kept(const Node& node, const LayerRequest& request) {
    if (request.precision != Precision::int8) return;
    if (const std::string* kept = kept_.keeper_of(node)) {
      wrong_.insert(
          fmt::format("'{}' is to be kept in f32, and '{}' asks for int8", *kept, request.by));
    }
  }

  void find_unused() {
    std::set<std::string> names;
    for (const Node& node : graph_.nodes) {
      names.emplace(node.name);
      names.emplace(node.op->name);
      names.insert(node.origins.begin(), node.origins.end());
    }
    if (operators_ != nullptr) {
      for (const auto& [node, op] : *operators_) names.emplace(op);
    }
    const std::vector<std::string> known(names.begin(), names.end());
    for (size_t c = 0; c < list_.size(); ++c) {
      if (used_[c]) continue;
      wrong_.insert(fmt::format("'{}' matches no node and no operator{}", text_at(c),
                                did_you_mean(list_[c].pattern, known)));
    }
  }

  void find_repeated() {
    std::map<std::pair<std::string, bool>, size_t> seen;
    for (size_t c = 0; c < list_.size(); ++c) {
      const auto [at, fresh] = seen.try_emplace({list_[c].pattern, list_[c].output}, c);
      if (fresh || precision_at(at->second) == precision_at(c)) continue;
      wrong_.insert(fmt::format("'{}' contradicts '{}'", text_at(c), text_at(at->second)));
    }
  }

  void find_unmade() {
    if (plan_.int8 || carries_qdq_) return;
    for (size_t c = 0; c < list_.size(); ++c) {
      if (list_[c].precision == Precision::int8)
        wrong_.insert(fmt::format("'{}': this build makes no INT8", text_at(c)));
    }
  }

  [[noreturn]] void throw_wrong() const {
    constexpr size_t kMostShown = 20;
    std::vector<std::string> shown(wrong_.begin(), wrong_.end());
    shown.resize(std::min(shown.size(), kMostShown));
    const size_t more = wrong_.size() - shown.size();
    fail_about("PrecisionPlan.constraints", Error::Code::invalid_argument,
               "{} of the precision constraints {} wrong:\n  {}{}", wrong_.size(),
               wrong_.size() == 1 ? "is" : "are", fmt::join(shown, "\n  "),
               more > 0 ? fmt::format("\n  and {} more", more) : "");
  }

  const Graph& graph_;
  const PrecisionPlan& plan_;
  Constraints list_;
  bool carries_qdq_;
  const NodeOperators* operators_;
  const KeptNames kept_;
  const std::unordered_set<std::string_view> names_;  // of nodes
  std::map<std::string, std::vector<size_t>> by_name_;
  std::vector<size_t> patterns_;
  std::vector<bool> used_;
  std::set<std::string> wrong_;
};

}  // namespace

Requests requests_of(const Graph& graph, const PrecisionPlan& plan, bool carries_qdq,
                     const NodeOperators* operators) {
  if (plan.constraints.empty()) return {};
  return Matcher(graph, plan, carries_qdq, operators).run();
}

}  // namespace octet
