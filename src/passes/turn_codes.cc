// SPDX-License-Identifier: Apache-2.0
// Weights that are turned behind their DequantizeLinear (exports of Keras keep their axes in another order) are turned as codes: what reads them sees codes.
// An axis of scales turns with them.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/attributes/codes.h"
#include "ops/quantized/quant_axis.h"
#include "ops/shared/axes.h"
#include "ops/shared/permutation.h"
#include "passes/graph_pass.h"
#include "passes/match.h"

namespace octet {
namespace {

enum : size_t { kCodes, kScale };

class CodeTurner : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    for (Node& node : graph_.nodes) {
      if (is_dequantize(node) && graph_.constant_input(node, kCodes) != nullptr)
        dequantize_[node.outputs[0]] = node;
      else if (is_op(node, "Transpose"))
        try_turn(node);
    }
  }

 private:
  void try_turn(Node& transpose) {
    const auto found = dequantize_.find(transpose.inputs[0]);
    if (found == dequantize_.end()) return;
    Node turned = found->second;
    const Tensor& codes = *graph_.constant_input(turned, kCodes);
    const bool are_bytes = dtype_bytes(codes.dtype()) == 1 && is_quantized_dtype(codes.dtype());
    if (!are_bytes || codes.bytes() > kMostBytes) return;
    if (turned.origins.size() > kMostOrigins) return;
    const std::optional<s64> axis = axis_behind(transpose, turned, codes.shape());
    if (!axis || !may_fold(codes.elements(), transpose) || !rewrites_.allow()) return;
    const std::string name = graph_.value(turned.inputs[kCodes]).name;
    Tensor moved = eval_node(transpose, std::vector<Tensor>{codes})[0];
    turned.inputs[kCodes] = graph_.add_constant(name, std::move(moved));
    if (*axis != attribute_of<&ScaleAttributes::axis>(turned))
      set_attribute<&ScaleAttributes::axis>(turned.attrs, *axis);
    turned.name = transpose.name;
    turned.outputs = transpose.outputs;
    append_origins(turned, transpose);
    dequantize_[turned.outputs[0]] = turned;
    transpose = std::move(turned);
  }

  // Where the axis of scales comes to lie; nothing where they lie along several.
  std::optional<s64> axis_behind(const Node& transpose, const Node& dq, const Shape& shape) const {
    const auto [axis, block] = attributes_of<ScaleAttributes>(dq);
    const Tensor* scale = graph_.constant_input(dq, kScale);
    if (block != 0 || scale == nullptr) return std::nullopt;
    if (scale->shape().elements() == 1) return axis;
    const int own = normalize_axis(axis, shape.rank());
    const std::vector<int> perm = permutation_of(transpose, shape.rank());
    return std::ranges::find(perm, own) - perm.begin();
  }

  static constexpr size_t kMostBytes = size_t{256} << 20;  // as fold_constants
  static constexpr size_t kMostOrigins = 8;  // turns of turns: each names all that are before it

  std::unordered_map<ValueId, Node> dequantize_;
};

}  // namespace

void turn_codes(Graph& graph, Rewrites& rewrites) { CodeTurner(graph, rewrites).run(); }

}  // namespace octet
