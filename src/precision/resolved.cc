// SPDX-License-Identifier: Apache-2.0
// What became of constraints.
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "passes/match.h"
#include "passes/qdq.h"
#include "precision/constraints.h"
#include "precision/halves.h"
#include "precision/roles.h"

namespace octet {
namespace {

bool is_conversion(const Node& node) { return is_quantize(node) || is_dequantize(node); }

// Codes that are made of what was computed in f32 are an f32 layer with an INT8 result, and count as either; so does what only a Softmax
// adds up before it writes codes.
bool computes_in_both(const Node& node) { return node.decision.code == ReasonCode::codes_of_rows; }

// The first that the node does not leave out; kNoValue: none.
ValueId first_result(const Node& node) {
  const auto at = std::ranges::find_if(node.outputs, [](ValueId id) { return id != kNoValue; });
  return at == node.outputs.end() ? kNoValue : *at;
}

class Table {
 public:
  Table(const Graph& graph, std::span<const NodeRequest> requests) : graph_(graph), uses_(graph) {
    for (const NodeRequest& request : requests) requests_.emplace(request.node, &request);
  }

  std::vector<NodePrecision> run(std::span<const NodeRequest> requests) {
    nodes_.reserve(graph_.nodes.size());
    seen_.reserve(graph_.nodes.size());
    for (const Node& node : graph_.nodes) {
      if (!is_conversion(node)) add(node);
    }
    for (const Node& node : graph_.nodes) {
      if (is_conversion(node)) add(node);
    }
    for (const NodeRequest& request : requests) {
      if (seen_.contains(request.node)) continue;
      nodes_.push_back({.node = request.node,
                        .layer = {},
                        .requested = request.precision,
                        .requested_output = request.output,
                        .reason = "it is in no layer: folded into a constant, or left out"});
    }
    return std::move(nodes_);
  }

 private:
  void add(const Node& node) {
    for (const std::string& origin : node.origins) {
      if (!seen_.emplace(origin, nodes_.size()).second) continue;
      NodePrecision entry;
      entry.node = origin;
      entry.layer = node.name;
      entry.resolved = node.decision.precision;
      entry.resolved_output = output_of(node);
      entry.reason_code = node.decision.code;
      entry.reason = node.decision.reason;
      if (const auto at = requests_.find(origin); at != requests_.end()) {
        entry.requested = at->second->precision;
        entry.requested_output = at->second->output;
        if (entry.requested_output == Precision::int8 && only_quantized(first_result(node)))
          entry.resolved_output = Precision::int8;
        if (gives_f32(node, entry)) entry.resolved_output = Precision::f32;
        if (computes_in_both(node) &&
            (entry.requested == Precision::f32 || entry.requested == Precision::int8))
          entry.resolved = entry.requested;
        explain_result(node, entry);
      }
      nodes_.push_back(std::move(entry));
    }
  }

  bool is_output(ValueId id) const { return id != kNoValue && uses_.is_output(id); }

  bool only_quantized(ValueId id) const {
    if (id == kNoValue) return false;
    const std::span<const u32> readers = uses_.consumers(id);
    return !readers.empty() && !is_output(id) &&
           std::ranges::all_of(readers, [&](u32 n) { return is_quantize(graph_.nodes[n]); });
  }

  static bool is_half(Precision type) { return type == Precision::f16 || type == Precision::bf16; }
  static bool moves(const Node& node) { return node.op->quant.kind == QuantKind::move_codes; }

  // Where only readers of 16 bits round what they read, the result itself is f32. The layer rounds it where another of its nodes asks so.
  bool gives_f32(const Node& node, const NodePrecision& entry) const {
    const ValueId id = first_result(node);
    if (entry.requested_output != Precision::f32 || id == kNoValue) return false;
    const s32 reader = uses_.only_consumer(id);
    if (reader >= 0 && rounds_own_result(graph_.nodes[static_cast<size_t>(reader)])) return false;
    const bool moves_halves = is_half(entry.resolved) && moves(node);
    return !moves_halves && graph_.value(id).type.dtype == Dtype::f32;
  }

  // What the value's only reader rounds it to.
  Precision rounded_type(ValueId id) const {
    const s32 reader = uses_.only_consumer(id);
    if (reader < 0) return Precision::none;
    const Node& node = graph_.nodes[static_cast<size_t>(reader)];
    if (!is_op(node, "RoundTo")) return Precision::none;
    return precision_from(dtype_name(attribute_of<&CastAttributes::to>(node)))
        .value_or(Precision::none);
  }

  Precision output_of(const Node& node) const {
    const ValueId id = first_result(node);
    if (id == kNoValue) return Precision::none;
    const TensorType& type = graph_.value(id).type;
    const bool codes = type.dtype == Dtype::u8 || type.dtype == Dtype::s8;
    if (codes && node.decision.precision == Precision::int8) return Precision::int8;
    if (const Precision rounded = rounded_type(id); rounded != Precision::none) return rounded;
    if (type.dtype == Dtype::f32 && is_half(node.decision.precision) && moves(node))
      return node.decision.precision;
    return type.shape.is_unknown() ? Precision::none : precision_of(type.dtype);
  }

  // Where the layer's type is as asked for, and that of its result is not.
  void explain_result(const Node& node, NodePrecision& entry) const {
    const bool differs = entry.requested_output != Precision::none &&
                         entry.requested_output != entry.resolved_output;
    if (!differs || (entry.requested != Precision::none && entry.requested != entry.resolved))
      return;
    if (is_output(first_result(node))) {
      entry.reason_code = ReasonCode::model_output;
      entry.reason = "its result is an output of the model, whose type stays";
    } else if (entry.requested_output == Precision::f32) {
      entry.reason += is_half(entry.resolved_output) ? "; the layer's one result is of 16 bits"
                                                     : "; this form gives codes only";
    } else {
      entry.reason_code = ReasonCode::no_range;
      entry.reason = "its result has no range, or no reader";
    }
  }

  const Graph& graph_;
  const Uses uses_;
  std::unordered_map<std::string_view, const NodeRequest*> requests_;
  std::unordered_map<std::string_view, size_t> seen_;  // names in the graph
  std::vector<NodePrecision> nodes_;
};

// "int8", or "int8 with a result of f32".
std::string asked(const NodePrecision& node) {
  const bool computes = node.requested != Precision::none,
             gives = node.requested_output != Precision::none;
  if (!gives) return std::string(to_string(node.requested));
  if (!computes) return fmt::format("a result of {}", to_string(node.requested_output));
  return fmt::format("{} with a result of {}", to_string(node.requested),
                     to_string(node.requested_output));
}

std::string got(const NodePrecision& node) {
  if (node.requested_output == Precision::none) return std::string(to_string(node.resolved));
  return fmt::format("{} with a result of {}", to_string(node.resolved),
                     to_string(node.resolved_output));
}

std::string sentence(const NodePrecision& node) {
  return fmt::format("'{}': {} is asked for, and it gets {}{}: {} ({})", node.node, asked(node),
                     got(node), node.layer == node.node ? "" : " in layer '" + node.layer + "'",
                     node.reason, to_string(node.reason_code));
}

// A name that parse_constraints() takes for one.
std::string writable(std::string name) {
  std::ranges::replace(name, ',', '?');
  return name;
}

// What is asked for in place of what cannot be had.
std::string relaxed(std::span<const NodePrecision> nodes, bool output) {
  std::string list;
  for (const NodePrecision& node : nodes) {
    const Precision asked = output ? node.requested_output : node.requested;
    const Precision got = output ? node.resolved_output : node.resolved;
    if (asked == Precision::none || asked == got) continue;
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", writable(node.node), to_string(got));
  }
  return list;
}

std::string relaxation(std::span<const NodePrecision> nodes) {
  const std::string computes = relaxed(nodes, false), gives = relaxed(nodes, true);
  std::string text = computes.empty() ? "" : fmt::format("types {}", computes);
  if (!gives.empty()) text += fmt::format("{}types of results {}", text.empty() ? "" : ", ", gives);
  return text;
}

// The layers whose rows are read as codes alone: they are written as codes, whatever was decided.
std::unordered_set<std::string_view> rows_that_become_codes(const Graph& graph) {
  const Uses uses(graph);
  const auto is_int8 = [&](u32 n) { return graph.nodes[n].decision.precision == Precision::int8; };
  std::unordered_set<std::string_view> names;
  for (const Node& layer : graph.nodes) {
    const ValueId id = first_result(layer);
    if (layer.op->traits->rows_as_codes == nullptr || id == kNoValue || uses.is_output(id))
      continue;
    const std::span<const u32> readers = uses.consumers(id);
    if (!readers.empty() && std::ranges::all_of(readers, is_int8)) names.insert(layer.name);
  }
  return names;
}

}  // namespace

std::vector<NodePrecision> node_precisions(const Graph& graph,
                                           std::span<const NodeRequest> requests) {
  return Table(graph, requests).run(requests);
}

std::vector<std::string> violations_of(std::span<const NodePrecision> nodes) {
  constexpr size_t kMostTold = 20;
  std::vector<std::string> list;
  size_t more = 0;
  for (const NodePrecision& node : nodes) {
    if (!node.violated()) continue;
    if (list.size() == kMostTold) {
      ++more;
    } else {
      list.push_back(
          fmt::format("No implementation of layer {} obeys the requested constraints: {}",
                      node.layer, sentence(node)));
    }
  }
  if (more > 0)
    list.push_back(
        fmt::format("and {} more nodes do not obey the constraints; inspection lists all", more));
  return list;
}

void check_obeyed(std::span<const NodePrecision> nodes) {
  std::vector<NodePrecision> violating;
  std::vector<std::string> lines;
  for (const NodePrecision& node : nodes) {
    if (!node.violated()) continue;
    violating.push_back(node);
    lines.push_back(sentence(node));
  }
  if (violating.empty()) return;
  fail_about("PrecisionPlan.constraints", Error::Code::invalid_argument,
             "{} node{} cannot obey the precision constraints:\n  {}\n"
             "  the smallest relaxation that builds asks for these instead: {}",
             lines.size(), lines.size() == 1 ? "" : "s", fmt::join(lines, "\n  "),
             relaxation(violating));
}

void check_obeyable(Graph graph, const Ranges& assumed, const PrecisionPlan& plan,
                    const Requests& requests) {
  assign_precision(graph, assumed, {plan.keep_float, requests.layers});
  std::vector<NodeRequest> asked = requests.nodes;
  for (NodeRequest& request : asked) {
    request.output = Precision::none;
    // 16-bit types come later.
    if (request.precision != Precision::int8) request.precision = Precision::none;
  }
  std::vector<NodePrecision> nodes = node_precisions(graph, asked);
  const std::unordered_set<std::string_view> codes = rows_that_become_codes(graph);
  std::erase_if(nodes, [&](const NodePrecision& node) {
    return node.reason_code == ReasonCode::kept_for_accuracy && codes.contains(node.layer);
  });
  check_obeyed(nodes);
}

}  // namespace octet
