// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/graph_edit.h"

namespace octet {

Precision rounding_of(const Node& node) {
  const std::string to = node.attrs.s(kRounds, "");
  return to == "f16" ? Precision::f16 : to == "bf16" ? Precision::bf16 : Precision::none;
}

int rounding_code(const Node& node) {
  const Precision to = rounding_of(node);
  return to == Precision::f16 ? 1 : to == Precision::bf16 ? 2 : 0;
}

UnaryFunction rounding_function(const Node& node, Isa isa) {
  const bool wide = isa >= Isa::vnni;
  switch (rounding_of(node)) {
    case Precision::f16:
      return wide ? unary_round_f16_vnni : unary_round_f16_avx2;
    case Precision::bf16:
      return wide ? unary_round_bf16_vnni : unary_round_bf16_avx2;
    default:
      return nullptr;
  }
}

void round_in_place(UnaryFunction function, f32* values, s64 count) noexcept {
  if (function == nullptr) return;
  const UnaryArgs args{values, values, count, 0.0f, 0.0f};
  function(&args);
}

std::string rounding_note(const Node& node) {
  const Precision to = rounding_of(node);
  return to == Precision::none ? std::string() : fmt::format("rounds to {}", to_string(to));
}

}  // namespace octet
