// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "precision/precision.h"
#include "precision/roles.h"

namespace octet {
namespace {

bool lacks_range(const Decision& decision) {
  return decision.code == ReasonCode::no_range || decision.code == ReasonCode::unusable_range;
}

bool usable(const Ranges& ranges, ValueId id) {
  const auto at = ranges.find(id);
  return at != ranges.end() && std::isfinite(at->second.threshold) && at->second.threshold > 0;
}

}  // namespace

std::vector<MissingRange> missing_ranges(const Graph& graph, const Ranges& ranges) {
  std::vector<MissingRange> missing;
  std::unordered_map<ValueId, size_t> at;
  for (const Node& node : graph.nodes) {
    if (!lacks_range(node.decision)) continue;
    for (ValueId id : ranged_values(graph, node)) {
      if (usable(ranges, id)) continue;
      const auto [entry, is_new] = at.try_emplace(id, missing.size());
      if (is_new) missing.push_back({graph.value(id).name, {}});
      missing[entry->second].layers.push_back(node.name);
    }
  }
  return missing;
}

}  // namespace octet
