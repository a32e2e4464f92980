// SPDX-License-Identifier: Apache-2.0
// Elementwise operators between one tensor of codes and a QuantizeLinear are a function of one code, however many they are
// (SiLU as Sigmoid and Mul, GELU around Erf, each with Q/DQ of its own): they become a table of 256 entries.
#include <algorithm>
#include <unordered_map>

#include "graph/op_traits.h"
#include "ops/registry.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/qdq.h"

namespace octet {
namespace {

bool is_codes(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::s8; }

bool is_elementwise(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.decision.precision == Precision::f32) return false;
  if (is_quantize(node) || is_dequantize(node)) return code_type(graph, node).has_value();
  return node.op->quant.kind == QuantKind::table || node.op->traits->elementwise;
}

// The codes that a value is a function of, and at most how many nodes lie between.
struct Origin {
  ValueId codes = kNoValue;
  u32 nodes = 0;
};

class UnaryFuser : GraphPass {
 public:
  UnaryFuser(Graph& graph, Rewrites& rewrites)
      : GraphPass(graph, rewrites),
        origin_(graph.value_count()),
        covered_(graph.nodes.size(), false) {}

  void run() {
    for (ValueId id : graph_.inputs) start(id);
    for (const Node& node : graph_.nodes) trace(node);
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      Node& quantize = graph_.nodes[n];
      if (!is_quantize(quantize) || !needed(n)) continue;
      const ValueId output = quantize.outputs[0];
      if (origin_[output].codes == kNoValue || origin_[output].codes == output) continue;
      const std::vector<u32> region = region_of(static_cast<u32>(n));
      if (!worthwhile(region)) continue;
      if (!rewrites_.allow()) return;
      replace(quantize, region);
    }
  }

 private:
  // Each region is evaluated for itself, so a long chain that is quantized at every step must not be one region. GELU with
  // Q/DQ around each operator has about 20 nodes.
  static constexpr u32 kMostNodes = 64;

  void start(ValueId id) {
    if (is_codes(graph_.value(id).type.dtype)) origin_[id] = {id, 0};
  }

  // The origin that all elements of the node's result have, element by element; none where there are several.
  Origin origin_of(const Node& node) const {
    if (!is_elementwise(graph_, node)) return {};
    Origin origin{kNoValue, 1};
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      if (const Tensor* constant = constant_of(id)) {
        if (constant->elements() != 1) return {};
        continue;
      }
      const Origin& own = origin_[id];
      if (own.codes == kNoValue || (origin.codes != kNoValue && origin.codes != own.codes))
        return {};
      origin = {own.codes, origin.nodes + own.nodes};
    }
    if (origin.codes == kNoValue || origin.nodes > kMostNodes) return {};
    const Shape& shape = graph_.value(node.outputs[0]).type.shape;
    return shape == graph_.value(origin.codes).type.shape ? origin : Origin{};
  }

  // A constant, or what DequantizeLinear makes of one, which quantizers put before the 1 and the 0.5 of GELU.
  const Tensor* constant_of(ValueId id) const {
    if (graph_.is_constant(id)) return &graph_.value(id).constant;
    const auto at = dequantized_.find(id);
    return at == dequantized_.end() ? nullptr : &at->second;
  }

  void trace_constant(const Node& node) {
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) {
      if (id != kNoValue && !graph_.is_constant(id)) return;
      inputs.push_back(id == kNoValue ? Tensor() : graph_.value(id).constant);
    }
    if (inputs[0].elements() == 1) dequantized_[node.outputs[0]] = eval_node(node, inputs)[0];
  }

  void trace(const Node& node) {
    if (is_dequantize(node)) trace_constant(node);
    const Origin origin = origin_of(node);
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      start(id);
      if (origin.codes != kNoValue) origin_[id] = origin;
    }
  }

  // A QuantizeLinear inside of a region that is a table now is needed only by readers outside.
  bool needed(size_t n) const {
    if (!covered_[n]) return true;
    const ValueId id = graph_.nodes[n].outputs[0];
    return uses_.is_output(id) ||
           std::ranges::any_of(uses_.consumers(id), [&](u32 reader) { return !covered_[reader]; });
  }

  // The nodes from the origin to node `last`, in graph order.
  std::vector<u32> region_of(u32 last) const {
    const ValueId origin = origin_[graph_.nodes[last].outputs[0]].codes;
    std::vector<u32> region;
    std::vector<u32> open = {last};
    while (!open.empty()) {
      const u32 n = open.back();
      open.pop_back();
      if (std::ranges::find(region, n) != region.end()) continue;
      region.push_back(n);
      for (ValueId id : graph_.nodes[n].inputs) {
        if (id == kNoValue || id == origin || constant_of(id) != nullptr) continue;
        open.push_back(static_cast<u32>(uses_.producer(id)));
      }
    }
    std::ranges::sort(region);
    return region;
  }

  // Not for Q/DQ alone, nor for one unary function, whose table its own rule computes in f64.
  bool worthwhile(const std::vector<u32>& region) const {
    s64 functions = 0, unary = 0;
    for (u32 n : region) {
      const Node& node = graph_.nodes[n];
      if (is_quantize(node) || is_dequantize(node)) continue;
      ++functions;
      if (node.op->quant.kind == QuantKind::table) ++unary;
    }
    return functions > 1 || functions > unary;
  }

  // The region's value for every code.
  Tensor table_of(const std::vector<u32>& region, ValueId origin) const {
    std::unordered_map<ValueId, Tensor> values;
    Tensor codes(graph_.value(origin).type.dtype, {256});
    // u8 counts from 0, s8 from -128: the order of table_index().
    const int first = codes.dtype() == Dtype::u8 ? 0 : 128;
    for (int i = 0; i < 256; ++i) codes.mutable_data()[i] = static_cast<std::byte>(i + first);
    values[origin] = codes;
    for (u32 n : region) {
      const Node& node = graph_.nodes[n];
      std::vector<Tensor> inputs;
      for (ValueId id : node.inputs) {
        if (id == kNoValue) {
          inputs.emplace_back();
        } else if (const Tensor* constant = constant_of(id)) {
          inputs.push_back(constant->reshaped(Shape{}));
        } else {
          inputs.push_back(values.at(id));
        }
      }
      values[node.outputs[0]] = eval_node(node, inputs)[0];
    }
    return values.at(graph_.nodes[region.back()].outputs[0]);
  }

  void replace(Node& quantize, const std::vector<u32>& region) {
    const ValueId origin = origin_[quantize.outputs[0]].codes;
    Node table;
    table.op = find_op("QTable");
    table.name = quantize.name;
    table.inputs = {origin,
                    graph_.add_constant(quantize.name + ".table", table_of(region, origin))};
    table.outputs = quantize.outputs;
    for (u32 n : region) {
      const Node& node = graph_.nodes[n];
      covered_[n] = true;
      table.origins.insert(table.origins.end(), node.origins.begin(), node.origins.end());
      if (!is_quantize(node) && !is_dequantize(node)) table.name = node.name;
    }
    table.decision = {Precision::int8, ReasonCode::table_of_codes,
                      "a function of one code, as a table of 256"};
    graph_.value(table.outputs[0]).quant = code_type(graph_, quantize)->params;
    quantize = std::move(table);
  }

  std::vector<Origin> origin_;                       // of each value
  std::vector<bool> covered_;                        // of each node: a part of some table
  std::unordered_map<ValueId, Tensor> dequantized_;  // constants of one element
};

}  // namespace

void fuse_unary(Graph& graph, Rewrites& rewrites) { UnaryFuser(graph, rewrites).run(); }

}  // namespace octet
