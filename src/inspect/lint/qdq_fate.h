// SPDX-License-Identifier: Apache-2.0
// What a build made of the nodes of a model, by their names.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace octet {

class Fates {
 public:
  explicit Fates(const Graph& built);

  // The node that `name` went into; null where it vanished (folded, cancelled, dead).
  const Node* find(const std::string& name) const;
  bool computes_on_codes(const std::string& name) const;
  // "'conv1' (QConv)", or "'add' (Add), in f32: WHY".
  std::string describe(const std::string& name) const;

 private:
  std::unordered_map<std::string, const Node*> nodes_;
};

}  // namespace octet
