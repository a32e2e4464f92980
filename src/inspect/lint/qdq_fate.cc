// SPDX-License-Identifier: Apache-2.0
#include "inspect/lint/qdq_fate.h"

#include <fmt/format.h>

#include "graph/op_traits.h"

namespace octet {

Fates::Fates(const Graph& built) {
  for (const Node& node : built.nodes) {
    for (const std::string& origin : node.origins) {
      // Of several, the one that computes; conversions stand beside it.
      const Node*& known = nodes_[origin];
      if (known == nullptr || is_quantize(*known) || is_dequantize(*known)) known = &node;
    }
  }
}

const Node* Fates::find(const std::string& name) const {
  const auto at = nodes_.find(name);
  return at == nodes_.end() ? nullptr : at->second;
}

bool Fates::computes_on_codes(const std::string& name) const {
  const Node* node = find(name);
  return node != nullptr && node->decision.precision == Precision::int8;
}

std::string Fates::describe(const std::string& name) const {
  const Node* node = find(name);
  if (node == nullptr) return fmt::format("'{}', which vanished", name);
  const std::string what = fmt::format("'{}' ({})", name, node->op->name);
  if (node->decision.precision == Precision::int8) return what;
  return fmt::format("{}, in {}: {}", what, to_string(node->decision.precision),
                     node->decision.reason);
}

}  // namespace octet
