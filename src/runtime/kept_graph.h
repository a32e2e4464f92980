// SPDX-License-Identifier: Apache-2.0
// The graph that the integer operators of a Model were made from: operators on reals between QuantizeLinear and DequantizeLinear, weights
// in codes. What runs does not need it; what is exported is made of it.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "graph/graph.h"

namespace octet {

class KeptGraph {
 public:
  explicit KeptGraph(Graph graph) : graph_(std::move(graph)) {}
  // Of an engine file: parsed when it is asked for first, since few ask.
  explicit KeptGraph(std::function<Graph()> parse) : parse_(std::move(parse)) {}

  // Safe from several threads. Throws Error(invalid_model) where the file holds no such graph.
  const Graph& graph() const {
    const std::lock_guard lock(mutex_);
    if (!graph_) graph_ = parse_();
    return *graph_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::optional<Graph> graph_;
  std::function<Graph()> parse_;
};

}  // namespace octet
