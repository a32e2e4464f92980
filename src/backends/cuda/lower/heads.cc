// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/heads.h"

#include <algorithm>
#include <cmath>

#include "backends/cuda/lower/halves.h"
#include "ops/attributes/moves.h"
#include "ops/shared/activation.h"
#include "ops/shared/moved_view.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

size_t output_of(const Node& node, ValueId id) {
  return static_cast<size_t>(std::ranges::find(node.outputs, id) - node.outputs.begin());
}

bool has_constant_number(const Graph& graph, const Node& node, size_t i) {
  const Tensor* constant = graph.constant_input(node, i);
  return constant != nullptr && constant->elements() == 1 && constant->dtype() == Dtype::f32;
}

bool passes_operand(const Graph& graph, const Node& node) {
  return makes_views(node) || is_rounding(graph, node) || factor_of(graph, node).has_value() ||
         (node.op->name == "DequantizeLinear" && code_scale_of(graph, node).has_value());
}

}  // namespace

bool is_rounding(const Graph& graph, const Node& node) {
  return node.op->name == "RoundTo" || is_widening(graph, node) || is_narrowing(graph, node);
}

std::optional<f64> factor_of(const Graph& graph, const Node& node) {
  const bool divides = node.op->name == "Div";
  if ((!divides && node.op->name != "Mul") || node.inputs.size() != 2) return {};
  if (activation_of(node).kind != Activation::Kind::none) return {};
  const size_t at = has_constant_number(graph, node, 1) ? 1 : 0;
  if (!has_constant_number(graph, node, at) || (divides && at == 0)) return {};
  const ValueId data = node.inputs[1 - at];
  if (graph.is_constant(data)) return {};
  if (graph.value(data).type.shape != graph.value(node.outputs[0]).type.shape) return {};
  const f64 number = f64{graph.constant_input(node, at)->as<f32>()[0]};
  const f64 factor = divides ? 1 / number : number;
  return std::isfinite(factor) ? std::optional(factor) : std::nullopt;
}

ValueId data_of(const Graph& graph, const Node& node) {
  return graph.is_constant(node.inputs[0]) ? node.inputs[1] : node.inputs[0];
}

bool keeps_matrices(const Graph& graph, const Node& node) {
  constexpr std::string_view kReshapes[] = {"Identity", "Reshape", "Squeeze", "Unsqueeze"};
  if (std::ranges::find(kReshapes, node.op->name) == std::end(kReshapes)) return false;
  const Shape &from = graph.value(node.inputs[0]).type.shape,
              &to = graph.value(node.outputs[0]).type.shape;
  const int a = from.rank(), b = to.rank();
  return a > 1 && b > 1 && from[a - 1] == to[b - 1] && from[a - 2] == to[b - 2];
}

namespace {

// A Transpose of matrices alone, of a view whose batch has other axes than the node's.
std::optional<StridedView> turned(const Graph& graph, const Node& node, StridedView view) {
  const int rank = graph.value(node.inputs[0]).type.shape.rank();
  if (node.op->name != "Transpose") return {};
  const std::vector<s64> perm =
      attribute_of<&TransposeAttributes::perm>(node).value_or(std::vector<s64>{});
  if (static_cast<int>(perm.size()) != rank) return {};
  for (int d = 0; d + 2 < rank; ++d) {
    if (perm[static_cast<size_t>(d)] != d) return {};
  }
  if (perm.back() == rank - 1) return view;
  const int last = view.shape.rank() - 1;
  std::swap(view.shape[last], view.shape[last - 1]);
  std::swap(view.strides[view.strides.size() - 1], view.strides[view.strides.size() - 2]);
  return view;
}

}  // namespace

std::optional<HeadOperand> operand_of(const LowerRequest& chain, ValueId id, bool as_split) {
  const Graph& body = chain_body(chain.node);
  const Uses uses(body);
  std::vector<ValueId> passed;
  ValueId source = id;
  for (s32 n; (n = uses.producer(source)) >= 0 &&
              passes_operand(body, body.nodes[static_cast<size_t>(n)]);) {
    passed.push_back(source);
    source = data_of(body, body.nodes[static_cast<size_t>(n)]);
  }
  const std::optional<size_t> input = chain_input(chain.node, source);
  if (!input) return HeadOperand{0, dense_view(body.value(id).type.shape)};
  HeadOperand operand{*input, dense_view(body.value(source).type.shape)};
  bool split = false;
  for (; !passed.empty(); passed.pop_back()) {
    const Node& node = body.nodes[static_cast<size_t>(uses.producer(passed.back()))];
    if (!makes_views(node)) continue;
    if (as_split && keeps_matrices(body, node)) {
      split = true;
      continue;
    }
    std::optional<StridedView> view =
        split ? turned(body, node, operand.view)
              : view_behind(body, node, output_of(node, passed.back()), operand.view);
    if (!view) return {};
    operand.view = *std::move(view);
  }
  return operand;
}

bool is_dense(const MatMulGeometry& g, const std::vector<s64>& batch, s64 query, s64 key) {
  s64 expected = g.m * g.n;
  for (int d = g.batch.rank(); d-- > 0;) {
    if (g.batch[d] != 1 && batch[static_cast<size_t>(d)] != expected) return false;
    expected *= g.batch[d];
  }
  return (key == 1 || g.n == 1) && (query == g.n || g.m == 1);
}

void set_mask_strides(const Shape& shape, const Shape& whole, ScoreMask& mask) {
  std::vector<s64> strides(static_cast<size_t>(whole.rank()));
  s64 step = 1;
  for (int d = shape.rank(); d-- > 0;) {
    if (shape[d] != 1) strides[static_cast<size_t>(d + whole.rank() - shape.rank())] = step;
    step *= shape[d];
  }
  mask.key = strides.back(), strides.pop_back();
  mask.row = strides.back(), strides.pop_back();
  mask.batch = strides;
}

std::string read_mask(const LowerRequest& sum, size_t scores, const MatMulGeometry& g,
                      ScoreMask& mask) {
  const size_t other = 1 - scores;
  const Shape &whole = sum.inputs[scores].shape, &shape = sum.inputs[other].shape;
  Shape rows = g.batch;
  rows.push_back(g.m), rows.push_back(g.n);
  if (whole != rows) return "scores are turned, or of a vector";
  if (activation_of(sum.node).kind != Activation::Kind::none) return "the sum has an activation";
  if (sum.inputs[other].dtype != Dtype::f32) return "the mask is not f32";
  if (sum.outputs[0].shape != whole) return "the mask is larger than the scores";
  mask.exists = true;
  if (const Tensor* constant = sum.constant(other)) mask.constant = *constant;
  set_mask_strides(shape, whole, mask);
  return {};
}

}  // namespace octet::cuda
