// SPDX-License-Identifier: Apache-2.0
// Gemm: alpha * A' * B' + beta * C. A pass turns the plain ones into MatMul, which is what gets quantized.
#include <vector>

#include "core/check.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/products.h"
#include "ops/shared/axes.h"
#include "ops/shared/dot.h"
#include "ops/shared/float_io.h"
#include "ops/shared/matmul.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

struct Gemm : GemmAttributes {
  s64 m = 0, k = 0, n = 0;
};

Gemm gemm_of(const Node& node, const Shape& a, const Shape& b) {
  Gemm gemm{attributes_of<GemmAttributes>(node)};
  if (a.rank() != 2 || b.rank() != 2 || a[gemm.transA ? 0 : 1] != b[gemm.transB ? 1 : 0]) {
    fail(Error::Code::invalid_model,
         "matrices {} (transA={}) and {} (transB={}) cannot be multiplied", to_string(a),
         gemm.transA, to_string(b), gemm.transB);
  }
  gemm.m = a[gemm.transA ? 1 : 0];
  gemm.k = a[gemm.transA ? 0 : 1];
  gemm.n = b[gemm.transB ? 0 : 1];
  return gemm;
}

// Opsets before 7 asked for broadcasting by an attribute.
void parse(NodeParser& parser) { parser.node.attrs.erase("broadcast"); }

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  require_same_dtypes(inference);
  const Gemm gemm = gemm_of(inference.node, inference.inputs[0].shape, inference.inputs[1].shape);
  const Shape output{gemm.m, gemm.n};
  if (inference.has_input(2) && broadcast_shapes(output, inference.inputs[2].shape) != output) {
    fail(Error::Code::invalid_model, "C is {}, which does not broadcast to {}",
         to_string(inference.inputs[2]), to_string(output));
  }
  inference.output(inference.inputs[0].dtype, output);
}

// Rows of `count` elements, transposed into `buffer` where the matrix holds them as columns.
const f32* rows_of(const FloatInput& matrix, bool transposed, s64 rows, s64 count,
                   std::vector<f32>& buffer) {
  if (!transposed) return matrix.data();
  buffer.resize(static_cast<size_t>(rows * count));
  transpose(matrix.data(), count, rows, buffer.data());
  return buffer.data();
}

void eval(const Eval& eval) {
  if (eval.outputs[0].shape.elements() == 0) return;
  const Gemm gemm = gemm_of(eval.node, eval.inputs[0].shape, eval.inputs[1].shape);
  const FloatInput a(eval, 0), b(eval, 1), c(eval, 2);
  const FloatOutput y(eval.outputs[0]);
  std::vector<f32> a_buffer, b_buffer;
  const f32* rows = rows_of(a, gemm.transA, gemm.m, gemm.k, a_buffer);
  const f32* columns = rows_of(b, !gemm.transB, gemm.n, gemm.k, b_buffer);
  const Shape c_shape = c ? eval.inputs[2].shape : Shape{};
  const bool c_rows = c_shape.rank() == 2 && c_shape[0] != 1;
  const bool c_columns = c_shape.rank() > 0 && c_shape[c_shape.rank() - 1] != 1;
  for (s64 i = 0; i < gemm.m; ++i) {
    for (s64 j = 0; j < gemm.n; ++j) {
      f32 value = gemm.alpha * dot(rows + i * gemm.k, columns + j * gemm.k, gemm.k);
      if (c) {
        const s64 c_width = c_columns ? gemm.n : 1;
        value += gemm.beta * c[(c_rows ? i * c_width : 0) + (c_columns ? j : 0)];
      }
      y[i * gemm.n + j] = value;
    }
  }
  y.store();
}

f64 macs(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  const Gemm gemm = gemm_of(node, inputs[0].shape, inputs[1].shape);
  return element_count(outputs[0].shape) * static_cast<f64>(gemm.k);
}

constexpr OpTraits kTraits{.macs = macs};

}  // namespace

extern constinit const OpDef kGemm{.name = "Gemm",
                                   .inputs = {2, 3},
                                   .parse = parse,
                                   .infer = infer,
                                   .eval = eval,
                                   .traits = &kTraits};
}  // namespace octet
