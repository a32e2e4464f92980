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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("alpha", self.alpha);
    field("beta", self.beta);
    field("transA", self.transA);
    field("transB", self.transB);
  }
};

// MatMul, QMatMul: permutations under which the operands are read and the result is written, as Transpose has them.
struct MatMulAttributes {
  std::optional<std::vector<s64>> perm_a;
  std::optional<std::vector<s64>> perm_b;
  std::optional<std::vector<s64>> perm_y;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("perm_a", self.perm_a);
    field("perm_b", self.perm_b);
    field("perm_y", self.perm_y);
  }
};

struct EinsumAttributes {
  std::string equation;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("equation", self.equation);
  }
};

}  // namespace octet
