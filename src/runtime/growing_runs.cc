// SPDX-License-Identifier: Apache-2.0
#include "runtime/growing_runs.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "graph/op_def.h"
#include "octet/plans.h"
#include "ops/shared/axes.h"

namespace octet {

// Rows of one tensor as those of another, which may have more.
struct GrowingRuns::Rows {
  const std::byte* from;
  std::byte* to;
  s64 outer;  // times
  s64 bytes;  // of the rows
  s64 from_step, to_step;
  bool on_host;
};

namespace {

s64 row_bytes(const TensorType& type, int axis) {
  return static_cast<s64>(dtype_bytes(type.dtype)) *
         dims_product(type.shape, axis + 1, type.shape.rank());
}

// Rows that the memory of a view has for each index of the axes before `axis`, where it is the first rows of a dense tensor; else 0.
s64 rows_in_memory(const TensorView& view, int axis) {
  const Shape& shape = view.type.shape;
  if (!view.strides || axis < 1 || !shape.is_static() || view.data == nullptr) return 0;
  const Strides& strides = *view.strides;
  s64 expected = 1;
  for (int d = shape.rank(); --d > axis;) {
    if (shape[d] != 1 && strides[static_cast<size_t>(d)] != expected) return 0;
    expected *= shape[d];
  }
  const s64 row = expected;
  if (row == 0 || (shape[axis] > 1 && strides[static_cast<size_t>(axis)] != row)) return 0;
  s64 rows = 0;
  for (int d = axis; d-- > 0;) {
    const s64 stride = strides[static_cast<size_t>(d)];
    if (shape[d] == 1) continue;
    if (rows == 0) {
      if (stride % row != 0) return 0;
      rows = stride / row;
      expected = stride;
    }
    if (stride != expected) return 0;
    expected = stride * shape[d];
  }
  return rows;
}

// As kernels of its device want it.
bool is_placed(const TensorView& view) {
  const auto bytes = view.device == "cpu" ? static_cast<s64>(dtype_bytes(view.type.dtype))
                                          : CallerMemory::kAlignment;
  return reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(bytes) == 0;
}

}  // namespace

GrowingRuns::GrowingRuns(const Graph& graph, const Target& target, Queues& queues,
                         PreparedStore& store)
    : graph_(graph), target_(target), queues_(queues), store_(store), caches_(find_caches(graph)) {}

std::optional<GrowingRuns::Whole> GrowingRuns::whole_of(
    std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs) const {
  if (caches_.empty() || inputs.size() != graph_.inputs.size() ||
      outputs.size() != graph_.outputs.size())
    return std::nullopt;
  Whole whole{0, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
  // Of one cache, before or behind the run.
  const auto widen = [&](auto& view, int axis) {
    const bool fits = view.type.shape.rank() > axis && is_placed(view);
    const s64 rows = fits ? rows_in_memory(view, axis) : 0;
    if (rows < std::max<s64>(1, fits ? view.type.shape[axis] : 1)) return false;
    if (whole.rows != 0 && rows != whole.rows) return false;
    whole.rows = rows;
    view.type.shape[axis] = rows;
    view.strides.reset();
    return true;
  };
  for (const Cache& cache : caches_) {
    const auto out = std::ranges::find(graph_.outputs, graph_.nodes[cache.node].outputs[0]);
    if (out == graph_.outputs.end()) return std::nullopt;
    const auto at = static_cast<size_t>(out - graph_.outputs.begin());
    if (!widen(whole.inputs[cache.input], cache.axis) || !widen(whole.outputs[at], cache.axis))
      return std::nullopt;
    if (whole.inputs[cache.input].device != whole.outputs[at].device) return std::nullopt;
  }
  return whole;
}

std::optional<GrowingRuns::Run> GrowingRuns::find(std::span<const Shape> shapes,
                                                  const CallerMemory& memory, s64 rows) {
  for (auto at = bound_.begin(); at != bound_.end(); ++at) {
    if (at->in_place != (rows != 0) || !(at->memory == memory)) continue;
    if (rows != 0 && at->growing.rows != rows) continue;
    const std::optional<s64> length = at->growing.length_of(shapes);
    if (!length) continue;
    bound_.splice(bound_.begin(), bound_, at);
    return Run{&bound_.front(), *length};
  }
  return std::nullopt;
}

std::optional<GrowingRuns::Run> GrowingRuns::find_or_make(std::span<const Shape> shapes,
                                                          const CallerMemory& memory, s64 rows) {
  if (caches_.empty()) return std::nullopt;
  if (const std::optional<Run> found = find(shapes, memory, rows)) return found;
  GrowingOrReject made = make_growing(graph_, shapes, rows);
  if (const auto* reject = std::get_if<Reject>(&made)) {
    reject_ = reject->reason;
    return std::nullopt;
  }
  Bound bound{
      .growing = std::move(std::get<Growing>(made)), .memory = memory, .in_place = rows != 0};
  try {
    Plan plan = make_plan(bound.growing.graph, bound.growing.shapes, target_, places_of(bound));
    const ThreadPool::Turn turn(queues_.pool());
    bound.plan = std::make_unique<BoundPlan>(std::move(plan), queues_, store_);
  } catch (const NeedsData& needs) {
    reject_ = needs.message();
    return std::nullopt;
  }
  reject_.clear();
  ++plans_made_;
  make_own(bound);
  bound_.push_front(std::move(bound));
  if (bound_.size() > size_t{kPlansOfContext}) bound_.pop_back();
  return Run{&bound_.front(), *bound_.front().growing.length_of(shapes)};
}

// Inputs of which the plan has a copy.
bool GrowingRuns::is_own_input(const Bound& bound, size_t i) const {
  const auto is_cache = [&](const Cache& cache) { return cache.input == i; };
  if (bound.in_place && std::ranges::any_of(caches_, is_cache)) return false;
  return bound.growing.inputs[i].grows();
}

bool GrowingRuns::is_own_output(const Bound& bound, size_t i) {
  if (bound.in_place && bound.growing.continues[i]) return false;
  return bound.growing.outputs[i].grows();
}

CallerMemory GrowingRuns::places_of(const Bound& bound) const {
  CallerMemory places = bound.memory;
  if (!places.inputs.empty()) {
    for (size_t i = 0; i < places.inputs.size(); ++i)
      places.aligned[i] = places.inputs[i] && (places.aligned[i] || is_own_input(bound, i));
    // The length; so a run need not wait for the host.
    places.inputs.push_back(true);
    places.aligned.push_back(false);
  }
  for (size_t i = 0; i < places.outputs.size(); ++i)
    places.in_place.push_back(places.outputs[i] && bound.growing.continues[i].has_value());
  return places;
}

// Rows of a cache that are the plan's own before the run are continued there.
void GrowingRuns::make_own(Bound& bound) {
  const Plan& plan = bound.plan->plan();
  bound.inputs.resize(plan.input_types.size());
  bound.outputs.resize(plan.output_types.size());
  bound.own_inputs.resize(graph_.inputs.size());
  bound.own_outputs.resize(graph_.outputs.size());
  for (size_t i = 0; i < bound.own_inputs.size(); ++i) {
    if (is_own_input(bound, i))
      bound.own_inputs[i] =
          make(plan.input_types[i], bound.memory.of_input(i), "a decoder's cache");
  }
  for (size_t i = 0; i < bound.own_outputs.size(); ++i) {
    if (!is_own_output(bound, i)) continue;
    const std::optional<size_t> input = bound.growing.continues[i];
    const u32 space = bound.memory.of_output(i);
    bound.own_outputs[i] = input && space == bound.memory.of_input(*input)
                               ? bound.own_inputs[*input]
                               : make(plan.output_types[i], space, "a decoder's cache");
  }
  make_lengths(bound);
}

// All of them: a run points to its own, which later runs do not change.
void GrowingRuns::make_lengths(Bound& bound) {
  Tensor lengths(Dtype::s64, Shape{bound.growing.most + 1});
  const std::span<s64> values = lengths.mutable_as<s64>();
  std::iota(values.begin(), values.end(), s64{0});
  bound.lengths = lengths;
  const u32 space = bound.plan->plan().caller.of_input(graph_.inputs.size());
  if (space == kHost) return;
  bound.lengths = make(lengths.type(), space, "lengths of a decoder's caches");
  queues_.device().copy(bound.lengths.mutable_data(), lengths.data(), lengths.type().bytes());
  queues_.device().synchronize();
}

std::vector<TensorType> GrowingRuns::output_types(const Run& run) const {
  std::vector<TensorType> types = run.bound->plan->plan().output_types;
  for (size_t i = 0; i < types.size(); ++i)
    types[i].shape = run.bound->growing.output_shape(i, types[i].shape, run.length);
  return types;
}

Tensor GrowingRuns::make(const TensorType& type, u32 space, const char* what) const {
  if (space == kHost) return {type, target_.device->allocate_host(type.bytes(), what)};
  return {type, target_.device->allocate(type.bytes(), what)};
}

void GrowingRuns::move(const Rows& rows) {
  if (rows.bytes == 0) return;
  const auto copy = [&](s64 begin, s64 end, int) {
    for (s64 i = begin; i < end; ++i)
      std::memcpy(rows.to + i * rows.to_step, rows.from + i * rows.from_step,
                  static_cast<size_t>(rows.bytes));
  };
  if (rows.on_host) return queues_.pool().parallel_for(rows.outer, copy);
  for (s64 i = 0; i < rows.outer; ++i)
    queues_.device().copy(rows.to + i * rows.to_step, rows.from + i * rows.from_step, rows.bytes);
}

void GrowingRuns::set_inputs(const Run& run, std::span<const Tensor> inputs) {
  Bound& bound = *run.bound;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor& own = bound.own_inputs[i];
    bound.inputs[i] = own ? own : inputs[i];
    if (!own) continue;
    const TensorType& type = own.type();
    const int axis = bound.growing.inputs[i].axis;
    const s64 row = row_bytes(type, axis), bytes = inputs[i].shape()[axis] * row;
    move({inputs[i].data(), own.mutable_data(), dims_product(type.shape, 0, axis), bytes, bytes,
          type.shape[axis] * row, bound.memory.of_input(i) == kHost});
  }
  const TensorType scalar{Dtype::s64, {}};
  const std::byte* length = bound.lengths.data() + run.length * scalar.bytes();
  bound.inputs.back() = {scalar, std::shared_ptr<const std::byte>(std::shared_ptr<void>(), length)};
}

void GrowingRuns::set_outputs(const Run& run, std::span<Tensor> outputs) {
  Bound& bound = *run.bound;
  for (size_t i = 0; i < outputs.size(); ++i)
    bound.outputs[i] = bound.own_outputs[i] ? bound.own_outputs[i] : outputs[i];
}

void GrowingRuns::fetch_outputs(const Run& run, std::span<Tensor> outputs) {
  Bound& bound = *run.bound;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& own = bound.own_outputs[i];
    if (!own) continue;
    const TensorType& type = own.type();
    const int axis = bound.growing.outputs[i].axis;
    const s64 row = row_bytes(type, axis), bytes = outputs[i].shape()[axis] * row;
    move({own.data(), outputs[i].mutable_data(), dims_product(type.shape, 0, axis), bytes,
          type.shape[axis] * row, bytes, bound.memory.of_output(i) == kHost});
  }
}

// A run keeps nothing of the caller's, whatever its end.
class GrowingRuns::Forgotten {
 public:
  explicit Forgotten(Bound& bound) : bound_(bound) {}
  ~Forgotten() {
    for (Tensor& input : bound_.inputs) input = {};
    for (Tensor& output : bound_.outputs) output = {};
  }
  Forgotten(const Forgotten&) = delete;
  Forgotten& operator=(const Forgotten&) = delete;

 private:
  Bound& bound_;
};

void GrowingRuns::execute(const Run& run, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                          const RunOptions& options) {
  const ThreadPool::Turn turn(queues_.pool());
  Queue& queue = queues_.device();
  BoundPlan& plan = *run.bound->plan;
  const Forgotten at_end(*run.bound);
  if (options.stream) queue.begin_after(*options.stream);
  set_inputs(run, inputs);
  set_outputs(run, outputs);
  if (options.stream && plan.is_of_device())
    plan.give(run.bound->inputs, run.bound->outputs);
  else
    plan.run(run.bound->inputs, run.bound->outputs);
  fetch_outputs(run, outputs);
  if (options.stream)
    queue.end_before(*options.stream);
  else
    queues_.synchronize();
}

}  // namespace octet
