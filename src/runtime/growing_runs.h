// SPDX-License-Identifier: Apache-2.0
// Runs of a decoder whose caches grow: one plan for many lengths (plan/growing.h). Caches of which the caller promises what buffers they lie in
// (RunOptions::cache_rows) are continued there; of others the plan's caches are copies.
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

// More would be a mistake: a run computes all rows.
inline constexpr s64 kMostCacheRows = s64{1} << 20;

class GrowingRuns {
 public:
  // A plan, and the memory of what it cannot take or give where the caller has it.
  struct Bound {
    Growing growing;
    CallerMemory memory;  // as the run has it
    bool in_place = false;
    std::vector<Tensor> own_inputs = {}, own_outputs = {};  // empty where the caller's are taken
    Tensor lengths = {};                                    // 0, 1, ...
    std::vector<Tensor> inputs = {}, outputs = {};          // of a run
    // Last, so that it goes first: it waits for the device's work, which reads and writes the memory above.
    std::unique_ptr<BoundPlan> plan = nullptr;
  };
  // What is run: a plan, and how many rows caches have before it.
  struct Run {
    Bound* bound = nullptr;
    s64 length = 0;
  };
  // Views of caches as far as their buffers go.
  struct Whole {
    s64 rows = 0;
    std::vector<TensorView> inputs;
    std::vector<MutableTensorView> outputs;
  };

  GrowingRuns(const Graph& graph, const Target& target, Queues& queues, PreparedStore& store);

  bool has_caches() const { return !caches_.empty(); }
  // The whole buffers of `rows` rows that these views begin, as RunOptions::cache_rows promises; a Reject says why caches are not continued there.
  // Throws Error(invalid_argument) for views that are not as promised.
  using WholeOrReject = std::variant<Whole, Reject>;
  WholeOrReject whole_of(std::span<const TensorView> inputs,
                         std::span<const MutableTensorView> outputs, s64 rows) const;
  // Throws Error(unsupported) with the reason where a run that copies caches could not take their views.
  void check_can_copy(std::span<const TensorView> inputs,
                      std::span<const MutableTensorView> outputs, std::string_view reason) const;
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
  // How often a graph for many lengths was asked for.
  s64 forms_tried() const { return forms_tried_; }
  // Why the graph had no form for many lengths when that was tried last; empty where it has.
  const std::string& reject() const { return reject_; }

 private:
  struct Rows;
  class Forgotten;
  // Inputs for which there is no graph for many lengths.
  struct Refused {
    std::vector<Shape> shapes;
    s64 rows;
    std::string reason;
  };
  std::nullopt_t refuse(std::span<const Shape> shapes, s64 rows, const std::string& reason);
  std::string input_name(size_t i) const;
  std::string output_name(size_t i) const;
  std::optional<size_t> output_of(const Cache& cache) const;
  static void check_rows(const TensorView& view, const Cache& cache, const std::string& name,
                         s64 rows);
  void check_alone(const Whole& whole, const Cache& cache, size_t at) const;
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
  std::list<Bound> bound_;      // most recently used first
  std::list<Refused> refused_;  // last first
  s64 plans_made_ = 0, forms_tried_ = 0;
  std::string reject_;
};

}  // namespace octet
