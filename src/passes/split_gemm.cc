// SPDX-License-Identifier: Apache-2.0
// A Gemm that gemm_to_matmul left, of computed matrices or with factors, becomes Transpose, MatMul, Mul and Add, which have kernels and
// integer forms; the passes behind fold what is constant into the product.
#include <string>
#include <vector>

#include "ops/registry.h"
#include "passes/infer_types.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

enum : size_t { kA, kB, kC };

class GemmSplitter {
 public:
  GemmSplitter(Graph& graph, Rewrites& rewrites)
      : graph_(graph), rewrites_(rewrites), edit_(graph) {}

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      if (!is_op(gemm(), "Gemm") || !is_real()) continue;
      if (!rewrites_.allow()) break;
      split();
      replaced_ = true;
    }
    edit_.apply();
    if (replaced_) infer_types(graph_, {.keep_dequantize = true, .budget = rewrites_.folding()});
  }

 private:
  bool is_real() const {
    for (const ValueId id : gemm().inputs) {
      const TensorType& type = id == kNoValue ? TensorType{} : graph_.value(id).type;
      if (type.dtype != Dtype::f32 || type.shape.is_unknown()) return false;
    }
    return true;
  }

  void split() {
    const Node& node = gemm();
    const Attrs& attrs = node.attrs;
    const ValueId a = turned(node.inputs[kA], attrs.i("transA", 0) != 0);
    const ValueId b = turned(node.inputs[kB], attrs.i("transB", 0) != 0);
    const ValueId product = add("MatMul", {a, b});
    const ValueId y = scaled(product, attrs.f("alpha", 1.0f));
    if (node.input(kC) != kNoValue) add("Add", {y, scaled(node.inputs[kC], attrs.f("beta", 1.0f))});
    nodes_.back().name = node.name;
    nodes_.back().outputs = node.outputs;
    edit_.replace(at_, std::move(nodes_));
    nodes_.clear();
  }

  ValueId turned(ValueId id, bool turn) {
    Attrs attrs;
    attrs.set("perm", std::vector<s64>{1, 0});
    return turn ? add("Transpose", {id}, attrs) : id;
  }

  ValueId scaled(ValueId id, f32 factor) {
    if (factor == 1.0f) return id;
    return add("Mul", {id, graph_.add_constant(gemm().name + ".factor", Tensor::scalar(factor))});
  }

  // The result of a new node, a constant where its inputs are; the product is always a node.
  ValueId add(const char* op, std::vector<ValueId> inputs, const Attrs& attrs = {}) {
    const std::string name = gemm().name + "." + op;
    Node node = node_beside(gemm(), find_op(op), name, std::move(inputs));
    node.attrs = attrs;
    std::vector<Tensor> constants;
    for (const ValueId id : node.inputs) {
      if (graph_.is_constant(id)) constants.push_back(graph_.value(id).constant);
    }
    node.outputs = {kNoValue};
    if (constants.size() == node.inputs.size() && !is_op(node, "MatMul"))
      return graph_.add_constant(name, eval_node(node, constants)[0]);
    node.outputs[0] = graph_.add_value(name, {Dtype::f32, Shape::unknown()});
    nodes_.push_back(node);
    return node.outputs[0];
  }

  const Node& gemm() const { return graph_.nodes[at_]; }

  Graph& graph_;
  Rewrites& rewrites_;
  GraphEdit edit_;
  size_t at_ = 0;  // the Gemm that is looked at
  bool replaced_ = false;
  std::vector<Node> nodes_;  // that take its place
};

}  // namespace

void split_gemm(Graph& graph, Rewrites& rewrites) { GemmSplitter(graph, rewrites).run(); }

}  // namespace octet
