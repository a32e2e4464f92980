// SPDX-License-Identifier: Apache-2.0
// Graph -> Graph rewrites. passes.cc holds the ordered lists; each pass is one file with one function.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "octet/compile.h"

namespace octet {

// Counts rewrites, and stops them after the N-th when bisecting (--stop-after-rewrites).
class Rewrites {
 public:
  explicit Rewrites(s64 limit = -1) : limit_(limit) {}
  // Asked before each rewrite; false: leave the graph as it is.
  bool allow() {
    if (limit_ >= 0 && count_ >= limit_) return false;
    ++count_;
    return true;
  }
  s64 count() const { return count_; }

 private:
  s64 limit_;
  s64 count_ = 0;
};

struct Pass {
  std::string_view name;
  void (*run)(Graph& graph, Rewrites& rewrites);
};

// Import form -> fused float form (Q/DQ nodes of explicit models stay in place).
std::span<const Pass> float_passes();
// Graph with Q/DQ -> integer operators.
std::span<const Pass> quantize_passes();

struct PassOptions {
  std::vector<std::string> disabled;
  s64 stop_after_rewrites = -1;
};

// Runs each enabled pass once, removes what became dead, verifies what it changed and records a trace. Errors name the pass.
// Throws Error(invalid_argument) when `disabled` names no pass of any list.
void run_passes(Graph& graph, std::span<const Pass> passes, const PassOptions& options,
                std::vector<PassTrace>* trace);

}  // namespace octet
