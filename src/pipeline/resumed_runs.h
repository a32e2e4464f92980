// SPDX-License-Identifier: Apache-2.0
// Variants of one graph over the same samples. What a variant has in common with the graph that it comes from is computed once: a variant
// runs from the first layers that differ.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "octet/engine.h"
#include "pipeline/float_model.h"
#include "plan/prepared_store.h"

namespace octet {

// Outputs of a graph, for each sample.
using SampleOutputs = std::vector<std::vector<Tensor>>;

class ResumedRuns {
 public:
  // Runs the graph over the samples, and keeps the values of as many of them as memory has room for.
  ResumedRuns(const Graph& base, std::span<const std::vector<Tensor>> samples,
              const StageOptions& stage);

  size_t samples() const { return kept_.size(); }
  // Of the base.
  const SampleOutputs& outputs() const { return outputs_; }

  // A variant without what it has in common with the base.
  class Rest {
    friend class ResumedRuns;
    std::shared_ptr<Model> model_;
    std::vector<size_t> inputs_;   // among the base's values
    std::vector<ptrdiff_t> made_;  // of each output: among the model's, or -1: the base's value
    std::vector<size_t> shared_;   // where it is the base's
  };
  // Values of the same name are the same where the nodes that make them are; the variant has the base's outputs.
  Rest rest_of(const Graph& variant) const;
  // Over the first `count` samples.
  SampleOutputs run(const Rest& rest, size_t count) const;

 private:
  std::vector<Tensor> run_one(const Rest& rest, Context& context, size_t sample) const;

  const Graph base_;
  const StageOptions stage_;
  std::shared_ptr<PreparedStore> store_;
  std::vector<ValueId> values_;            // that are kept
  std::vector<std::vector<Tensor>> kept_;  // of each sample, in the order of values_
  SampleOutputs outputs_;
};

}  // namespace octet
