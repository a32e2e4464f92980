// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/check.h"
#include "ops/attributes/activation.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/quantize_weights.h"
#include "ops/quantized/weight_codes.h"
#include "ops/registry.h"
#include "passes/functions.h"
#include "passes/match.h"
#include "passes/qdq.h"
#include "precision/precision.h"
#include "precision/roles.h"

namespace octet {
namespace {

bool is_int8(const Node& node) { return node.decision.precision == Precision::int8; }

// Values that must share one scale, as disjoint sets.
class SharedScales {
 public:
  explicit SharedScales(const Graph& graph) : parent_(graph.value_count()) {
    std::iota(parent_.begin(), parent_.end(), ValueId{0});
    for (const Node& node : graph.nodes) {
      if (!is_int8(node) || node.op->quant.kind != QuantKind::move_codes) continue;
      const std::vector<ValueId> ids = ranged_values(graph, node);
      for (ValueId id : ids) join(ids[0], id);
    }
  }

  ValueId root(ValueId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

 private:
  void join(ValueId a, ValueId b) { parent_[root(b)] = root(a); }
  std::vector<ValueId> parent_;
};

class Placer {
 public:
  Placer(Graph& graph, const Ranges& ranges, WeightCodes& weight_codes)
      : graph_(graph), weight_codes_(weight_codes), uses_(graph), shared_(graph) {
    for (const auto& [id, range] : ranges) {
      const auto [at, fresh] = merged_.emplace(shared_.root(id), range);
      if (fresh) continue;
      at->second.min = std::min(at->second.min, range.min);
      at->second.threshold = std::max(at->second.threshold, range.threshold);
      at->second.max = std::max(at->second.max, range.max);
    }
  }

  void run() {
    find_multiples();
    find_functions();
    const size_t value_count = graph_.value_count();
    std::vector<Node> original = std::move(graph_.nodes);
    graph_.nodes.clear();
    real_.resize(value_count, kNoValue);
    for (ValueId id : graph_.inputs) place(original, id, false);
    for (Node& node : original) {
      if (is_int8(node) && is_op(node, "ConvTranspose")) quantize_weights_of(node);
      rewire(node);
      if (is_int8(node) && has_operands(node)) quantize_constants(node);
      const std::vector<ValueId> outputs = node.outputs;
      std::vector<bool> codes;
      for (size_t i = 0; i < outputs.size(); ++i)
        codes.push_back(is_int8(node) && gives_codes_only(node, i));
      graph_.nodes.push_back(std::move(node));
      for (size_t i = 0; i < outputs.size(); ++i) place(original, outputs[i], codes[i]);
    }
  }

 private:
  // Constants beside an activation are operands like it; those of other operators are parameters.
  static bool has_operands(const Node& node) {
    return node.op->quant.kind == QuantKind::arithmetic && node.op->traits->elementwise;
  }

  // The parameters that numerics section 1 gives to a range.
  CodeType type_of_range(ValueId root) const { return code_type_of(merged_.at(root)); }
  CodeType type_of(ValueId id) {
    const ValueId root = shared_.root(id);
    const auto at = multiples_.find(root);
    return at == multiples_.end() ? type_of_range(root) : at->second;
  }

  // Codes that are multiplied by one positive number stay what they are, and their scale is multiplied: another scale would round them again.
  // Not where others share that scale. Nodes come in order, so that a multiple of a multiple follows.
  void find_multiples() {
    const std::unordered_map<ValueId, int> sources = count_sources();
    for (const Node& node : graph_.nodes) {
      const std::optional<Multiple> multiple = is_int8(node) ? multiple_of(node) : std::nullopt;
      if (!multiple) continue;
      const ValueId root = shared_.root(node.outputs[0]), of = shared_.root(multiple->of);
      if (root == of || sources.at(root) != 1 || !merged_.contains(of)) continue;
      CodeType type = type_of(of);
      type.params.scale = static_cast<f32>(f64{type.params.scale} * multiple->factor);
      if (std::isnormal(type.params.scale)) multiples_.emplace(root, type);
    }
  }

  // Of each scale: the values that are not moved from others of the same scale.
  std::unordered_map<ValueId, int> count_sources() {
    std::unordered_map<ValueId, int> sources;
    for (ValueId id : graph_.inputs) ++sources[shared_.root(id)];
    for (const Node& node : graph_.nodes) {
      const bool moves = is_int8(node) && node.op->quant.kind == QuantKind::move_codes;
      for (ValueId id : node.outputs)
        if (id != kNoValue && !moves) ++sources[shared_.root(id)];
    }
    return sources;
  }

  struct Multiple {
    ValueId of;
    f64 factor;
  };
  std::optional<Multiple> multiple_of(const Node& node) const {
    const bool divides = is_op(node, "Div");
    if ((!divides && !is_op(node, "Mul")) || has_activation(node)) return {};
    const size_t side = !divides && graph_.is_constant(node.inputs[0]) ? 0 : 1;
    const std::optional<f32> factor = scalar_constant(graph_, node.inputs[side]);
    if (!factor || !(*factor > 0) || !std::isfinite(*factor)) return {};
    const f64 value{*factor};
    return Multiple{node.inputs[1 - side], divides ? 1 / value : value};
  }

  // Where a function of finer codes ends a product (passes/fuse_function.cc), nothing is rounded between them, nor where elements are moved.
  void find_functions() {
    unrounded_.resize(graph_.value_count(), false);
    for (Node& product : graph_.nodes) {
      if (!is_int8(product) || product.op->traits->integer_product == nullptr) continue;
      std::vector<ValueId> between{product.outputs[0]};
      const Node* reader = only_int8_reader(between.back());
      while (reader != nullptr && reader->op->traits->permutes) {
        between.push_back(reader->outputs[0]);
        reader = only_int8_reader(between.back());
      }
      if (reader == nullptr || !may_have_fine_table(*reader)) continue;
      if (const std::string why = no_fine_table(product, *reader); !why.empty()) {
        product.decision.reason +=
            fmt::format("; {} of its codes, not of finer ones: {}", reader->op->name, why);
        continue;
      }
      for (const ValueId id : between) unrounded_[id] = true;
      if (std::ranges::any_of(between, [&](ValueId id) { return is_given(id); }))
        product.decision.reason +=
            fmt::format("; the range given for its result has no use: nothing is rounded before {}",
                        reader->op->name);
    }
  }

  bool is_given(ValueId id) {
    const auto range = merged_.find(shared_.root(id));
    return range != merged_.end() && range->second.method == RangeMethod(RangeRule::given);
  }

  const Node* only_int8_reader(ValueId id) const {
    const s32 reader = uses_.only_consumer(id);
    if (reader < 0 || uses_.is_output(id)) return nullptr;
    const Node& node = graph_.nodes[static_cast<size_t>(reader)];
    return is_int8(node) ? &node : nullptr;
  }

  bool may_have_fine_table(const Node& function) {
    return is_function_of_reals(graph_, function) &&
           merged_.contains(shared_.root(function.outputs[0]));
  }
  std::string no_fine_table(const Node& product, const Node& function) {
    const CodeType type = type_of(function.outputs[0]);
    return weight_codes_.function(function, bound_of(product), {type.dtype, type.params}).reject;
  }

  bool read_as_codes(const std::vector<Node>& nodes, ValueId id) const {
    for (u32 reader : uses_.consumers(id)) {
      const Node& node = nodes[reader];
      if (!is_int8(node)) continue;
      const std::vector<ValueId> ids = code_inputs(graph_, node);
      if (std::ranges::find(ids, id) != ids.end()) return true;
    }
    return false;
  }

  // A Relu alone reads the normalization's result: it is the lower end of its codes (passes/fuse_qdq.cc), which are those behind the Relu.
  // Not where the caller reads the Relu's reals.
  bool is_clamped(const std::vector<Node>& nodes, const Node* producer, ValueId id) const {
    const s32 reader = uses_.only_consumer(id);
    if (producer == nullptr || reader < 0 || !is_int8(*producer)) return false;
    if (!is_op(*producer, "InstanceNormalization")) return false;
    const Node& relu = nodes[static_cast<size_t>(reader)];
    return is_int8(relu) && is_op(relu, "Relu") && !uses_.is_output(relu.outputs[0]);
  }

  // Q and DQ after the value; its readers follow in rewire().
  void place(const std::vector<Node>& nodes, ValueId id, bool produced_as_codes) {
    if (id == kNoValue || id >= real_.size() || !is_real_activation(graph_, id)) return;
    if (unrounded_[id]) return;
    if (produced_as_codes && is_clamped(nodes, &graph_.nodes.back(), id)) return;
    if (!produced_as_codes && !read_as_codes(nodes, id)) return;
    const CodeType type = type_of(id);
    const std::string name = graph_.value(id).name;
    graph_.nodes.push_back(make_quantize(graph_, id, type, name + ".codes"));
    graph_.nodes.push_back(
        make_dequantize(graph_, graph_.nodes.back().outputs[0], type, name + ".dequantized"));
    real_[id] = graph_.nodes.back().outputs[0];
  }

  // int8 nodes read the dequantized value (fusion looks through it), and so does everybody where the producer has codes
  // only. Readers in f32 of a value that exists in f32 keep reading that.
  void rewire(Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId& id = node.inputs[i];
      if (id == kNoValue || id >= real_.size() || real_[id] == kNoValue) continue;
      const s32 producer = uses_.producer(id);
      if ((is_int8(node) && reads_codes(node, i)) || (producer >= 0 && produced_int8_[id]))
        id = real_[id];
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue && is_int8(node) && gives_codes(node, i))
        produced_int8_[node.outputs[i]] = true;
    }
  }

  // A constant operand of an addition or product becomes codes behind a DequantizeLinear, like the other operand.
  void quantize_constants(Node& node) {
    for (ValueId& id : node.inputs) {
      if (!graph_.is_constant(id) || graph_.value(id).type.dtype != Dtype::f32) continue;
      const Tensor real = graph_.value(id).constant;
      const CodeType type = code_type_of(range_of(real));
      const std::string name = graph_.value(id).name;
      const ValueId codes = graph_.add_constant(name + ".codes", quantize_tensor(real, type));
      graph_.nodes.push_back(make_dequantize(graph_, codes, type, name + ".dequantized"));
      id = graph_.nodes.back().outputs[0];
    }
  }

  // Weights [C, O, kh, kw], a scale for each of the O channels, in which 32 bits hold the bias.
  void quantize_weights_of(Node& node) {
    const Value weights = graph_.value(node.inputs[1]);
    const Shape& shape = weights.type.shape;
    const Tensor* bias = graph_.constant_input(node, 2);
    const ProductInput x{
        .scale = std::max(type_of(node.inputs[0]).params.scale, std::numeric_limits<f32>::min())};
    const QuantizedWeights codes = quantize_weights(
        weights.constant, bias != nullptr ? bias->as<f32>() : std::span<const f32>(),
        {shape[1], shape[2] * shape[3]}, x, &weight_codes_);
    OCTET_CHECK(codes.reject.empty());  // assign.cc asked
    const ValueId scales =
        graph_.add_constant(weights.name + ".scales", Tensor::of<f32>({shape[1]}, codes.scales));
    Node dequantize{.op = find_op("DequantizeLinear"),
                    .name = weights.name + ".dequantized",
                    .inputs = {graph_.add_constant(weights.name + ".codes", codes.codes), scales},
                    .outputs = {graph_.add_value(weights.name + ".dequantized", weights.type)},
                    .attrs = {},
                    .origins = {},
                    .decision = {}};
    set_attribute<&ScaleAttributes::axis>(dequantize.attrs, 1);
    node.inputs[1] = dequantize.outputs[0];
    graph_.nodes.push_back(std::move(dequantize));
  }

  static Range range_of(const Tensor& real) {
    Range range{.min = std::numeric_limits<f32>::infinity(),
                .max = -std::numeric_limits<f32>::infinity()};
    for (f32 x : real.as<f32>()) {
      range.min = std::min(range.min, x);
      range.max = std::max(range.max, x);
      range.threshold = std::max(range.threshold, f64{std::fabs(x)});
    }
    if (!(range.threshold > 0)) range.threshold = 1;
    return range;
  }

  Graph& graph_;
  WeightCodes& weight_codes_;
  Uses uses_;
  SharedScales shared_;
  std::unordered_map<ValueId, Range> merged_;
  std::unordered_map<ValueId, CodeType> multiples_;  // by the root of those that share it
  std::vector<bool> unrounded_;                      // of each value
  std::vector<ValueId> real_;  // the dequantized value standing for each original value
  std::unordered_map<ValueId, bool> produced_int8_;
};

}  // namespace

// A range that lies mostly on one side of zero has a zero point (docs/adr/0010): what SiLU, GELU or LeakyRelu give would leave almost
// half of the symmetric codes unused.
CodeType code_type_of(const Range& range) {
  constexpr f32 kOneSided = 0.9f;
  const f32 threshold = static_cast<f32>(range.threshold);
  const f32 low = std::max(range.min, -threshold);
  const f32 high = std::clamp(range.max, 0.0f, threshold);
  // Of a layer that is all but dead: scales are normal numbers.
  const auto scale_of = [](f64 scale) {
    return std::max(static_cast<f32>(scale), std::numeric_limits<f32>::min());
  };
  CodeType type;
  if (low >= 0.0f) {
    type.params = {scale_of(range.threshold / 255), 0};
  } else if (high - low < kOneSided * 2.0f * threshold) {
    type.params.scale = scale_of((high - low) / 255.0f);
    type.params.zero_point = static_cast<s32>(std::nearbyint(-low / type.params.scale));
  } else {
    type.dtype = Dtype::s8;
    type.params = {scale_of(range.threshold / 127), 0};
  }
  return type;
}

void place_qdq(Graph& graph, const Ranges& ranges, WeightCodes& weight_codes) {
  Placer(graph, ranges, weight_codes).run();
}

}  // namespace octet
