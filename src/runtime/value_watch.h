// SPDX-License-Identifier: Apache-2.0
// Looks at values of a graph while it runs. Each gets a reader of its own, right behind its producer: a plan frees it after its last
// reader, where an output of the graph would live until the end of the run.
#pragma once

#include <span>

#include "graph/graph.h"
#include "octet/tensor.h"

namespace octet {

class ValueWatch {
 public:
  // `index` into the values that are watched; the tensor's memory is the run's.
  virtual void seen(size_t index, const Tensor& value) = 0;

  // While it lives, `watch` is told of what runs on this thread.
  class Scope {
   public:
    explicit Scope(ValueWatch& watch);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ValueWatch* outer_;
  };

 protected:
  ~ValueWatch() = default;
};

// Adds the readers. Each gives one number, which is an output of the graph, for what nobody reads does not run.
void add_watches(Graph& graph, std::span<const ValueId> values);

}  // namespace octet
