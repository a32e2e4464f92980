// SPDX-License-Identifier: Apache-2.0
// Who runs the bodies of control flow: the scalar reference, or, while a context runs, kernels like those of the graph around them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace octet {

class BodyRunner {
 public:
  // Nothing: the reference is to run it. The inputs live as long as the call.
  virtual std::optional<std::vector<Tensor>> run(const Graph& body,
                                                 std::span<const Tensor> inputs) = 0;

  // That of the innermost scope of this thread; null outside of all.
  static BodyRunner* current();

  // While it lives, `runner` runs the bodies that nodes on this thread evaluate.
  class Scope {
   public:
    explicit Scope(BodyRunner& runner);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    BodyRunner* outer_;
  };

 protected:
  ~BodyRunner() = default;
};

}  // namespace octet
