// SPDX-License-Identifier: Apache-2.0
// Weights that are transposed behind their DequantizeLinear (exports of Keras keep their axes in another order) are transposed as codes: what reads them
// sees codes. An axis of scales moves with them.
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

class CodeTransposer : GraphPass {
 public:
  using GraphPass::GraphPass;

  void run() {
    for (Node& node : graph_.nodes) {
      if (is_dequantize(node) && graph_.constant_input(node, kCodes) != nullptr)
        dequantize_[node.outputs[0]] = node;
      else if (is_op(node, "Transpose"))
        try_transpose(node);
    }
  }

 private:
  void try_transpose(Node& transpose) {
    const auto found = dequantize_.find(transpose.inputs[0]);
    if (found == dequantize_.end()) return;
    Node transposed = found->second;
    const Tensor& codes = *graph_.constant_input(transposed, kCodes);
    const bool are_bytes = dtype_bytes(codes.dtype()) == 1 && is_quantized_dtype(codes.dtype());
    if (!are_bytes || codes.bytes() > kMostBytes) return;
    if (transposed.origins.size() > kMostOrigins) return;
    const std::optional<s64> axis = axis_behind(transpose, transposed, codes.shape());
    if (!axis || !may_fold(codes.elements(), transpose) || !rewrites_.allow()) return;
    const std::string name = graph_.value(transposed.inputs[kCodes]).name;
    Tensor moved = eval_node(transpose, std::vector<Tensor>{codes})[0];
    transposed.inputs[kCodes] = graph_.add_constant(name, std::move(moved));
    if (*axis != attribute_of<&ScaleAttributes::axis>(transposed))
      set_attribute<&ScaleAttributes::axis>(transposed.attrs, *axis);
    transposed.name = transpose.name;
    transposed.outputs = transpose.outputs;
    append_origins(transposed, transpose);
    dequantize_[transposed.outputs[0]] = transposed;
    transpose = std::move(transposed);
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
  static constexpr size_t kMostOrigins = 8;  // of a chain of Transposes, each names all before it

  std::unordered_map<ValueId, Node> dequantize_;
};

}  // namespace

void transpose_codes(Graph& graph, Rewrites& rewrites) { CodeTransposer(graph, rewrites).run(); }

}  // namespace octet
