// SPDX-License-Identifier: Apache-2.0
// A Gemm that gemm_to_matmul left, of computed matrices or with factors, becomes Transpose, MatMul, Mul and Add, which have kernels and
// integer forms; the passes behind fold what is constant into the product.
#include "ops/attributes/products.h"
#include "passes/node_rewriter.h"

namespace octet {
namespace {

enum : size_t { kA, kB, kC };

class GemmSplitter : public NodeRewriter {
 public:
  GemmSplitter(Graph& graph, Rewrites& rewrites) : NodeRewriter(graph, rewrites, "Gemm") {}

 private:
  bool read() override {
    for (const ValueId id : node().inputs) {
      const TensorType& type = id == kNoValue ? TensorType{} : graph_.value(id).type;
      if (type.dtype != Dtype::f32 || type.shape.is_unknown()) return false;
    }
    return true;
  }

  void write() override {
    const auto attributes = attributes_of<GemmAttributes>(node());
    const ValueId a = turned(node().inputs[kA], attributes.transA);
    const ValueId b = turned(node().inputs[kB], attributes.transB);
    const ValueId y = scaled(add("MatMul", {a, b}), attributes.alpha);
    const ValueId c = node().input(kC);
    if (c != kNoValue) add("Add", {y, scaled(c, attributes.beta)});
  }

  ValueId turned(ValueId id, bool turn) { return turn ? transposed(id, {1, 0}) : id; }

  ValueId scaled(ValueId id, f32 factor) {
    if (factor == 1.0f) return id;
    return add_or_fold("Mul", {id, add_constant("factor", Tensor::scalar(factor))});
  }
};

}  // namespace

void split_gemm(Graph& graph, Rewrites& rewrites) { GemmSplitter(graph, rewrites).run(); }

}  // namespace octet
