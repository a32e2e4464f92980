// SPDX-License-Identifier: Apache-2.0
// Attributes of products of matrices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/attributes.h"

namespace octet {

struct GemmAttributes {
  f32 alpha = 1.0f;
  f32 beta = 1.0f;
  bool transA = false;  // NOLINT(readability-identifier-naming): as ONNX writes them
  bool transB = false;  // NOLINT(readability-identifier-naming)

  OCTET_ATTRIBUTES(alpha, beta, transA, transB)
};

// MatMul, QMatMul: permutations under which the operands are read and the result is written, as Transpose has them.
struct MatMulAttributes {
  std::optional<std::vector<s64>> perm_a;
  std::optional<std::vector<s64>> perm_b;
  std::optional<std::vector<s64>> perm_y;

  OCTET_ATTRIBUTES(perm_a, perm_b, perm_y)
};

struct EinsumAttributes {
  std::string equation;

  OCTET_ATTRIBUTES(equation)
};

}  // namespace octet
