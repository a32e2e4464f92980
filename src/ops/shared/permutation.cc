// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/permutation.h"

#include "core/check.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet {

std::vector<int> permutation_of(const Node& node, int rank) {
  std::vector<s64> reversed;
  for (int i = rank - 1; i >= 0; --i) reversed.push_back(i);
  const std::vector<s64> perm = attribute_of<&TransposeAttributes::perm>(node).value_or(reversed);
  if (perm.size() != static_cast<size_t>(rank)) {
    fail(Error::Code::invalid_model, "attribute 'perm' has {} axes, the input has rank {}",
         perm.size(), rank);
  }
  return normalize_axes(perm, rank);
}

}  // namespace octet
