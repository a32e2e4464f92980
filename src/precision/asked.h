// SPDX-License-Identifier: Apache-2.0
// What the user asks of single layers: names that stay in f32, and constraints.
#pragma once

#include <optional>

#include "precision/constraints.h"
#include "precision/precision.h"

namespace octet {

class AskedTypes {
 public:
  AskedTypes(const Graph& graph, const PrecisionOptions& options)
      : graph_(graph), requests_(options.requests), kept_(graph, options.keep_float) {}

  bool int8(const Node& node) const { return request_of(node).precision == Precision::int8; }
  // That the user keeps the node in f32; nothing where nobody asks for that.
  std::optional<Decision> real(const Node& node) const;

 private:
  const LayerRequest& request_of(const Node& node) const;
  std::string real_constraint(const Node& node) const;

  const Graph& graph_;
  const std::span<const LayerRequest> requests_;
  const KeptNames kept_;
};

}  // namespace octet
