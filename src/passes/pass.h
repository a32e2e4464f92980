// SPDX-License-Identifier: Apache-2.0
// Graph -> Graph rewrites. passes.cc holds the ordered lists; each pass is one file with one function.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "octet/compile.h"

namespace octet {

class FoldingBudget;  // graph/propagate.h
class WeightCodes;    // ops/quantized/weight_codes.h

// What a pass is given beside the graph: counts rewrites, and stops them after the N-th when bisecting; codes of weights that
// other variants of the model made; what it may compute of constants.
class Rewrites {
 public:
  explicit Rewrites(s64 limit = -1, WeightCodes* weight_codes = nullptr,
                    FoldingBudget* folding = nullptr, std::optional<Uses>* uses = nullptr)
      : limit_(limit),
        weight_codes_(weight_codes),
        folding_(folding),
        uses_(uses != nullptr ? uses : &own_uses_) {}
  Rewrites(const Rewrites&) = delete;
  Rewrites& operator=(const Rewrites&) = delete;
  // Asked before each rewrite; false: leave the graph as it is.
  bool allow() {
    if (limit_ >= 0 && count_ >= limit_) return false;
    ++count_;
    return true;
  }
  s64 count() const { return count_; }
  // Of the graph as the pass found it: passes that change nothing share one.
  const Uses& uses(const Graph& graph) {
    if (!*uses_) uses_->emplace(graph);
    return **uses_;
  }
  WeightCodes* weight_codes() const { return weight_codes_; }  // may be null
  // For PropagateOptions: one budget for all passes; may be null.
  FoldingBudget* folding() const { return folding_; }

 private:
  s64 limit_;
  WeightCodes* weight_codes_;
  FoldingBudget* folding_;
  std::optional<Uses> own_uses_;
  std::optional<Uses>* uses_;
  s64 count_ = 0;
};

struct Pass {
  std::string_view name;
  void (*run)(Graph& graph, Rewrites& rewrites);
  // Turns Q/DQ into integer operators. A simulation leaves it out: there the Q/DQ nodes compute as they stand.
  bool makes_integers = false;
};

// Import form -> fused float form (Q/DQ nodes of explicit models stay in place).
std::span<const Pass> float_passes();
// Graph with Q/DQ -> integer operators.
std::span<const Pass> quantize_passes();

struct PassOptions {
  std::vector<std::string> disabled;
  s64 stop_after_rewrites = -1;
  bool simulate = false;  // without the passes that make integers
  WeightCodes* weight_codes = nullptr;
  // Told of the stage before each pass, which may be the last.
  Monitor monitor = {};
  std::string_view stage = "optimize";
  FoldingBudget* folding = nullptr;  // null: one for this graph
};

// Runs each enabled pass once (rewrites that `trace` brings along count as made), removes what became dead, verifies what it
// changed and records a trace. Errors name the pass.
// Throws Error(invalid_argument) when `disabled` names no pass of any list.
void run_passes(Graph& graph, std::span<const Pass> passes, const PassOptions& options,
                std::vector<PassTrace>* trace);

}  // namespace octet
