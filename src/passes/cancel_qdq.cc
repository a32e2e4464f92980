// SPDX-License-Identifier: Apache-2.0
// DQ -> Q with equal parameters is nothing; with different parameters it is a 256-entry table. Equal QuantizeLinear
// nodes on one value become one.
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/qdq.h"

namespace octet {
namespace {

using QuantizeKey = std::tuple<ValueId, f32, s32, Dtype>;

class Canceller : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    for (Node& node : graph_.nodes) {
      for (ValueId& id : node.inputs) {
        if (const auto at = renamed_.find(id); at != renamed_.end()) id = at->second;
      }
      if (is_dequantize(node)) dequantize_[node.outputs[0]] = &node;
      if (is_quantize(node)) simplify(node);
    }
  }

 private:
  void simplify(Node& node) {
    const std::optional<CodeType> to = code_type(graph_, node);
    if (!to || uses_.is_output(node.outputs[0])) return;
    if (merge_equal(node, *to)) return;
    const auto at = dequantize_.find(node.inputs[0]);
    if (at == dequantize_.end()) return;
    const std::optional<CodeType> from = code_type(graph_, *at->second);
    if (!from || graph_.is_constant(at->second->inputs[0]) || !rewrites_.allow()) return;
    const ValueId codes = at->second->inputs[0];
    if (*from == *to) {
      renamed_[node.outputs[0]] = codes;
      return;
    }
    Node rescale = make_rescale(graph_, codes, *from, *to, node.name + ".rescale");
    rescale.outputs = node.outputs;
    rescale.origins = node.origins;
    rescale.decision = {Precision::int8, ReasonCode::quantized_twice,
                        "two quantizations in a row, as the model asks"};
    node = std::move(rescale);
  }

  bool merge_equal(const Node& node, const CodeType& type) {
    const QuantizeKey key{node.inputs[0], type.params.scale, type.params.zero_point, type.dtype};
    const auto [at, fresh] = seen_.emplace(key, node.outputs[0]);
    if (fresh || !rewrites_.allow()) return false;
    renamed_[node.outputs[0]] = at->second;
    return true;
  }

  std::unordered_map<ValueId, ValueId> renamed_;
  std::unordered_map<ValueId, const Node*> dequantize_;
  std::map<QuantizeKey, ValueId> seen_;
};

}  // namespace

void cancel_qdq(Graph& graph, Rewrites& rewrites) { Canceller(graph, rewrites).run(); }

}  // namespace octet
