// SPDX-License-Identifier: Apache-2.0
#include "runtime/growing_runs.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/tensor_view.h"
#include "graph/op_def.h"
#include "octet/plans.h"
#include "ops/shared/axes.h"
#include "runtime/in_stream.h"

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

// Whether elements lie where a dense buffer of `rows` rows along the axis has them.
bool lies_in_buffer(const TensorView& view, int axis, s64 rows) {
  const Shape& shape = view.type.shape;
  const bool is_empty = view.type.bytes() == 0;
  s64 of_buffer = 1, of_view = 1;
  for (int d = shape.rank(); d-- > 0 && !is_empty;) {
    const s64 stride = view.strides ? (*view.strides)[static_cast<size_t>(d)] : of_view;
    if (shape[d] != 1 && stride != of_buffer) return false;
    of_buffer *= d == axis ? rows : shape[d];
    of_view *= shape[d];
  }
  return true;
}

// All bytes between its first and its last element.
std::pair<const std::byte*, const std::byte*> extent_of(const TensorView& view) {
  const auto bytes = static_cast<s64>(dtype_bytes(view.type.dtype));
  if (view.type.bytes() == 0) return {view.data, view.data};
  if (!view.strides) return {view.data, view.data + view.type.bytes()};
  s64 before = 0, behind = bytes;
  for (int d = 0; d < view.type.shape.rank(); ++d) {
    const s64 step = (view.type.shape[d] - 1) * (*view.strides)[static_cast<size_t>(d)] * bytes;
    (step < 0 ? before : behind) += step;
  }
  return {view.data + before, view.data + behind};
}

bool overlap(const TensorView& a, const TensorView& b) {
  const auto [a_begin, a_end] = extent_of(a);
  const auto [b_begin, b_end] = extent_of(b);
  return a.device == b.device && a_begin < b_end && b_begin < a_end;
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

std::string GrowingRuns::input_name(size_t i) const {
  return fmt::format("input '{}'", graph_.value(graph_.inputs[i]).name);
}
std::string GrowingRuns::output_name(size_t i) const {
  return fmt::format("output '{}'", graph_.value(graph_.outputs[i]).name);
}

// The output that continues a cache, if it is one.
std::optional<size_t> GrowingRuns::output_of(const Cache& cache) const {
  const ValueId id = graph_.nodes[cache.node].outputs[0];
  if (std::ranges::count(graph_.outputs, id) != 1) return std::nullopt;
  return static_cast<size_t>(std::ranges::find(graph_.outputs, id) - graph_.outputs.begin());
}

void GrowingRuns::check_rows(const TensorView& view, const Cache& cache, const std::string& name,
                             s64 rows) {
  const s64 shown = view.type.shape[cache.axis];
  if (shown <= rows && lies_in_buffer(view, cache.axis, rows)) return;
  fail(Error::Code::invalid_argument,
       "{} is given as {}, which is not the first rows of a dense buffer of {} rows along axis {}; "
       "give such a view, or run without cache_rows",
       name, to_string(view.type), rows, cache.axis);
}

// The buffer of an output is nobody else's but of the same cache before the run.
void GrowingRuns::check_alone(const Whole& whole, const Cache& cache, size_t at) const {
  const TensorView own = whole.outputs[at];
  const auto check = [&](const TensorView& other, const std::string& name) {
    if (!overlap(own, other)) return;
    fail(Error::Code::invalid_argument,
         "the buffer of {} rows of {} overlaps {}; give each cache a buffer of its own, or run "
         "without cache_rows",
         whole.rows, output_name(at), name);
  };
  for (size_t i = 0; i < whole.inputs.size(); ++i) {
    const bool same = i == cache.input && whole.inputs[i].data == own.data;
    if (!same) check(whole.inputs[i], input_name(i));
  }
  for (size_t i = 0; i < whole.outputs.size(); ++i) {
    if (i != at) check(whole.outputs[i], output_name(i));
  }
}

GrowingRuns::WholeOrReject GrowingRuns::whole_of(std::span<const TensorView> inputs,
                                                 std::span<const MutableTensorView> outputs,
                                                 s64 rows) const {
  if (rows < 1 || rows > kMostCacheRows)
    fail(Error::Code::invalid_argument, "cache_rows is {}; expected 1 to {}", rows, kMostCacheRows);
  if (caches_.empty()) return Reject{"the model has no input that Concat continues"};
  if (inputs.size() != graph_.inputs.size() || outputs.size() != graph_.outputs.size())
    return Reject{"the model has other inputs or outputs"};
  Whole whole{rows, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
  for (const Cache& cache : caches_) {
    const std::optional<size_t> at = output_of(cache);
    if (!at)
      return Reject{fmt::format("{} is not continued by one output", input_name(cache.input))};
    TensorView& past = whole.inputs[cache.input];
    MutableTensorView& present = whole.outputs[*at];
    Shape expected = present.type.shape;
    const bool fits = expected.rank() > cache.axis && past.type.shape.rank() == expected.rank() &&
                      expected.is_static() && present.type.bytes() > 0 && present.data != nullptr;
    if (fits) expected[cache.axis] = past.type.shape[cache.axis];
    if (!fits || past.type != TensorType{present.type.dtype, expected})
      return Reject{fmt::format("{} is {}, and {} is {}", input_name(cache.input),
                                to_string(past.type), output_name(*at), to_string(present.type))};
    check_rows(past, cache, input_name(cache.input), rows);
    check_rows(present, cache, output_name(*at), rows);
    // Views without rows often have no address: nothing is read there.
    if (past.type.bytes() == 0) past.data = present.data, past.device = present.device;
    if (past.device != present.device)
      return Reject{fmt::format("{} lies in memory of '{}', and {} in that of '{}'",
                                input_name(cache.input), past.device, output_name(*at),
                                present.device)};
    for (const TensorView& view : {past, TensorView(present)}) {
      if (!is_placed(view))
        return Reject{fmt::format("{} or {} begins at an address that kernels do not take",
                                  input_name(cache.input), output_name(*at))};
    }
    past.type.shape[cache.axis] = present.type.shape[cache.axis] = rows;
    past.strides.reset(), present.strides.reset();
  }
  for (const Cache& cache : caches_) check_alone(whole, cache, *output_of(cache));
  return whole;
}

void GrowingRuns::check_can_copy(std::span<const TensorView> inputs,
                                 std::span<const MutableTensorView> outputs,
                                 std::string_view reason) const {
  const auto check = [&](const TensorView& view, const std::string& name) {
    if (view.device == "cpu" || is_dense(view)) return;
    fail(Error::Code::unsupported,
         "{} cannot be continued in the memory of '{}': {}; give dense views and run without "
         "cache_rows",
         name, view.device, reason);
  };
  for (const Cache& cache : caches_) {
    if (cache.input < inputs.size()) check(inputs[cache.input], input_name(cache.input));
    const std::optional<size_t> at = output_of(cache);
    if (at && *at < outputs.size()) check(outputs[*at], output_name(*at));
  }
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
  const auto refused = std::ranges::find_if(refused_, [&](const Refused& known) {
    return known.rows == rows && std::ranges::equal(known.shapes, shapes);
  });
  if (refused != refused_.end()) {
    reject_ = refused->reason;
    return std::nullopt;
  }
  ++forms_tried_;
  GrowingOrReject made = make_growing(graph_, shapes, rows);
  if (const auto* reject = std::get_if<Reject>(&made)) return refuse(shapes, rows, reject->reason);
  Bound bound{
      .growing = std::move(std::get<Growing>(made)), .memory = memory, .in_place = rows != 0};
  try {
    Plan plan = make_plan(bound.growing.graph, bound.growing.shapes, target_, places_of(bound));
    const ThreadPool::Turn turn(queues_.pool());
    bound.plan = std::make_unique<BoundPlan>(std::move(plan), queues_, store_);
  } catch (const NeedsData& needs) {
    return refuse(shapes, rows, needs.message());
  }
  reject_.clear();
  ++plans_made_;
  make_own(bound);
  bound_.push_front(std::move(bound));
  if (bound_.size() > size_t{kPlansOfContext}) bound_.pop_back();
  return Run{&bound_.front(), *bound_.front().growing.length_of(shapes)};
}

// Remembers it: the next run over such inputs asks for the same.
std::nullopt_t GrowingRuns::refuse(std::span<const Shape> shapes, s64 rows,
                                   const std::string& reason) {
  reject_ = reason;
  refused_.push_front({{shapes.begin(), shapes.end()}, rows, reason});
  if (refused_.size() > size_t{kPlansOfContext}) refused_.pop_back();
  return std::nullopt;
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
  BoundPlan& plan = *run.bound->plan;
  const Forgotten at_end(*run.bound);
  InStream stream(queues_.device(), options.stream);
  set_inputs(run, inputs);
  set_outputs(run, outputs);
  if (options.stream && plan.is_of_device())
    plan.give(run.bound->inputs, run.bound->outputs);
  else
    plan.run(run.bound->inputs, run.bound->outputs);
  fetch_outputs(run, outputs);
  if (options.stream)
    stream.end();
  else
    queues_.synchronize();
}

}  // namespace octet
