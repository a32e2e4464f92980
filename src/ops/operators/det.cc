// SPDX-License-Identifier: Apache-2.0
// Det: the determinant of each square matrix in the last two axes, by elimination with row exchanges in f64.
#include <cmath>
#include <utility>
#include <vector>

#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const Shape& x = inference.inputs[0].shape;
  require_dtype(inference, 0, DtypeClass::real);
  const int rank = x.rank();
  if (rank < 2 || x[rank - 1] != x[rank - 2]) {
    fail(Error::Code::invalid_model, "the input is {}, expected square matrices", to_string(x));
  }
  Shape output;
  for (int i = 0; i < rank - 2; ++i) output.push_back(x[i]);
  inference.output(inference.inputs[0].dtype, output);
}

// Destroys m, which is n x n.
f64 determinant(std::vector<f64>& m, size_t n) {
  f64 result = 1.0;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    }
    if (m[pivot * n + k] == 0.0) return 0.0;
    if (pivot != k) {
      for (size_t j = 0; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
      result = -result;
    }
    result *= m[k * n + k];
    for (size_t i = k + 1; i < n; ++i) {
      const f64 factor = m[i * n + k] / m[k * n + k];
      for (size_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return result;
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const size_t n = static_cast<size_t>(shape[shape.rank() - 1]);
  const FloatInput x(eval, 0);
  const FloatOutput y(eval.outputs[0]);
  const f32* next = x.data();
  for (f32& value : y.values()) {
    std::vector<f64> matrix(next, next + n * n);
    value = static_cast<f32>(determinant(matrix, n));
    next += n * n;
  }
  y.store();
}

// Elimination takes a row of each matrix from every other.
f64 work(const Node&, TensorTypes inputs, TensorTypes) {
  const Shape& x = inputs[0].shape;
  return element_count(x) * static_cast<f64>(x[x.rank() - 1]);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kDet{.name = "Det", .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
