// SPDX-License-Identifier: Apache-2.0
// Runs of a decoder whose caches grow: one plan for many lengths (plan/growing.h). Caches that the caller gives as the first rows of larger memory are continued
// there; of others the plan's caches are copies.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "octet/engine.h"
#include "plan/growing.h"
#include "runtime/bound_plan.h"
#include "runtime/queues.h"

namespace octet {

class GrowingRuns {
 public:
  // A plan, and the memory of what it cannot take or give where the caller has it.
  struct Bound {
    Growing growing;
    CallerMemory memory;  // as the run has it
    bool in_place = false;
    std::unique_ptr<BoundPlan> plan = nullptr;
    std::vector<Tensor> own_inputs = {}, own_outputs = {};  // empty where the caller's are taken
    Tensor lengths = {};                                    // 0, 1, ...
    std::vector<Tensor> inputs = {}, outputs = {};          // of a run
  };
  // What is run: a plan, and how many rows caches have before it.
  struct Run {
    Bound* bound = nullptr;
    s64 length = 0;
  };
  // Views of caches as far as their memory goes.
  struct Whole {
    s64 rows = 0;
    std::vector<TensorView> inputs;
    std::vector<MutableTensorView> outputs;
  };

  GrowingRuns(const Graph& graph, const Target& target, Queues& queues, PreparedStore& store);

  bool has_caches() const { return !caches_.empty(); }
  // Whether a run over these views may continue all caches where they lie: inputs and outputs of each are the first rows of one
  // memory, or of two, of the same number of rows.
  std::optional<Whole> whole_of(std::span<const TensorView> inputs,
                                std::span<const MutableTensorView> outputs) const;
  // The run over inputs of these shapes; nothing where it needs a plan for these shapes alone. `rows`: of Whole, or 0.
  std::optional<Run> find(std::span<const Shape> shapes, const CallerMemory& memory, s64 rows);
  // Makes the plan where there is none. Nothing where the graph has no form for many lengths.
  std::optional<Run> find_or_make(std::span<const Shape> shapes, const CallerMemory& memory,
                                  s64 rows);
  std::vector<TensorType> output_types(const Run& run) const;
  // Outputs have the types of output_types(); in place, caches have all of their rows.
  void execute(const Run& run, std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options);

  s64 plans_made() const { return plans_made_; }
  // Why the graph had no form for many lengths when that was tried last; empty where it has.
  const std::string& reject() const { return reject_; }

 private:
  struct Rows;
  class Forgotten;
  bool is_own_input(const Bound& bound, size_t i) const;
  static bool is_own_output(const Bound& bound, size_t i);
  CallerMemory places_of(const Bound& bound) const;
  void make_own(Bound& bound);
  void make_lengths(Bound& bound);
  void set_inputs(const Run& run, std::span<const Tensor> inputs);
  void set_outputs(const Run& run, std::span<Tensor> outputs);
  void fetch_outputs(const Run& run, std::span<Tensor> outputs);
  Tensor make(const TensorType& type, u32 space, const char* what) const;
  void move(const Rows& rows);

  const Graph& graph_;
  const Target& target_;
  Queues& queues_;
  PreparedStore& store_;
  const std::vector<Cache> caches_;
  std::list<Bound> bound_;  // most recently used first
  s64 plans_made_ = 0;
  std::string reject_;
};

}  // namespace octet
