// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/run_work.h"
#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "octet/error.h"
#include "plan/groups.h"
#include "plugin/plugin_op.h"

namespace octet {
namespace {

// Between the images of one group of the step and those of the next, in a buffer that holds the whole batch.
s64 group_bytes(const Plan& plan, const PlanStep& step, const Buffer& buffer) {
  const TensorType& type = plan.graph.value(buffer.value).type;
  return type.shape[0] / step.share.groups * image_bytes(type, buffer.placement);
}

bool is_of(const Buffer& buffer, const CallerTensor& tensor) {
  const auto kind = tensor.is_output ? Buffer::Kind::output : Buffer::Kind::input;
  return buffer.kind == kind && buffer.index == tensor.index;
}

// Those that no input of the graph reaches.
std::vector<bool> constant_nodes(const Graph& graph) {
  std::vector<bool> varies(graph.value_count());
  for (const ValueId id : graph.inputs) varies[id] = true;
  std::vector<bool> constant;
  for (const Node& node : graph.nodes) {
    const bool depends =
        std::ranges::any_of(node.inputs, [&](ValueId id) { return id != kNoValue && varies[id]; });
    constant.push_back(!depends);
    for (const ValueId id : node.outputs) {
      if (id != kNoValue && depends) varies[id] = true;
    }
  }
  return constant;
}

}  // namespace

BoundPlan::BoundPlan(Plan plan, Queues& queues, PreparedStore& store)
    : plan_(std::move(plan)),
      queues_(queues),
      input_rows_(plan_.input_types.size()),
      output_rows_(plan_.output_types.size()) {
  count_reference_work();
  steps_ = bind_steps(plan_, {store, queues.pool()});
  constants_ = bind_constants(plan_, store);
  for (PlanStep& step : plan_.steps) step.candidate = {};  // what it holds is bound now
  for (size_t d = 0; d < plan_.devices.size(); ++d) {
    constexpr const char* kWhat = "the plan for these input sizes";
    const s64 bytes = plan_.arenas[d].bytes;
    const bool crossed = d == kHost && plan_.devices.size() > 1;
    arenas_.push_back(crossed ? plan_.devices.back()->allocate_host(bytes, kWhat)
                              : plan_.devices[d]->allocate(bytes, kWhat));
  }
  size_t count = 0;
  awaited_.resize(plan_.steps.size());
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    first_pointer_.push_back(count);
    count += step.inputs.size() + step.outputs.size();
    if (runs_.empty() || runs_.back().share != step.share) runs_.push_back({s, s, step.share});
    runs_.back().end = s + 1;
    if (step.after != kNoStep) wait_for(step.after, s);
  }
  lanes_.resize(static_cast<size_t>(std::max<s64>(1, plan_.slices.count)));
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    lanes_[lane].pointers.resize(count);
    lanes_[lane].pool = std::make_shared<ThreadPool>(ThreadPool::Guests{kMostHelpers});
    lanes_[lane].chunks = plan_.devices[kHost]->make_queue(lanes_[lane].pool);
    lanes_[lane].pieces = plan_.devices[kHost]->make_queue(lanes_[lane].pool->with_whole_pieces());
    lanes_[lane].left = std::make_unique<std::atomic<s64>>(0);
    make_lane(static_cast<s64>(lane));
  }
  find_repeated();
}

// The queue may still work for the last run.
BoundPlan::~BoundPlan() { const Awaited awaited(queues_); }

bool BoundPlan::may_repeat(size_t s) const {
  const PlanStep& step = plan_.steps[s];
  const auto own = [&](u32 b) { return b == kNoBuffer || !plan_.buffers[b].is_of_caller(); };
  // What a plugin does need not be the same each time.
  const auto& nodes = plan_.graph.nodes;
  if (step.node < nodes.size() && plugin_of(nodes[step.node]) != nullptr) return false;
  return step.device != kHost && step.share.groups == 1 && !is_crossing(plan_, step) &&
         std::ranges::all_of(step.inputs, own) && std::ranges::all_of(step.outputs, own);
}

void BoundPlan::find_repeated() {
  repeated_.resize(plan_.steps.size());
  for (const Run& run : runs_) {
    for (size_t s = run.first; s < run.end;) {
      size_t end = s;
      while (end < run.end && may_repeat(end)) ++end;
      repeated_[s].end = end;
      s = std::max(end, s + 1);
    }
  }
}

// All steps of a run whose only group is the batch.
void BoundPlan::run_whole(const Run& run) {
  for (size_t s = run.first; s < run.end;) {
    Repeated& repeated = repeated_[s];
    if (repeated.end < s + 2) {
      run_step(s, step_args(s, 0));
      ++s;
      continue;
    }
    queues_.of(plan_.steps[s]).repeat(repeated.kept, [&] {
      for (size_t t = s; t < repeated.end; ++t) run_step(t, step_args(t, 0));
    });
    s = repeated.end;
  }
}

void BoundPlan::make_lane(s64 index) {
  Lane& lane = lanes_[static_cast<size_t>(index)];
  std::byte** slot = lane.pointers.data();
  for (const Run& run : runs_) {
    lane.moving.emplace_back();
    for (size_t s = run.first; s < run.end; ++s) {
      const PlanStep& step = plan_.steps[s];
      for (size_t i = 0; i < step.inputs.size(); ++i) add_input(step, i, index, slot++);
      for (u32 b : step.outputs) add_pointer(step, b, index, slot++);
    }
  }
}

// The copy's queue tells when it is done; the reader, on the host, waits for that.
void BoundPlan::wait_for(size_t copy, size_t reader) {
  Queue& queue = queues_.of(plan_.steps[copy]);
  Event& event = *events_.emplace_back(queue.make_event());
  steps_[copy] = [&event, run = std::move(steps_[copy])](const StepArgs& args) {
    run(args);
    args.queue.record(event);
  };
  awaited_[reader] = &event;
}

BoundPlan::Awaited::~Awaited() {
  try {
    queues_.synchronize();
  } catch (...) {
    // Only where the run already leaves with an error of its own.
  }
}

void BoundPlan::add_input(const PlanStep& step, size_t i, s64 index, std::byte** slot) {
  add_pointer(step, step.inputs[i], index, slot);
  if (step.inputs[i] == kNoBuffer) *slot = constant_of(step, i);
}

void BoundPlan::add_pointer(const PlanStep& step, u32 b, s64 index, std::byte** slot) {
  *slot = resolve(b, index);
  if (b == kNoBuffer) return;
  Lane& lane = lanes_[static_cast<size_t>(index)];
  const Buffer& buffer = plan_.buffers[b];
  if (buffer.is_of_caller())
    lane.caller.push_back({slot, buffer.kind == Buffer::Kind::output, buffer.index});
  if (step.share.groups <= buffer.groups) return;
  MovingPointer& moving =
      lane.moving.back().emplace_back(MovingPointer{slot, group_bytes(plan_, step, buffer)});
  if (!buffer.is_of_caller()) return;
  moving.rows = &(buffer.kind == Buffer::Kind::output ? output_rows_ : input_rows_)[buffer.index];
  moving.images = batch_of(plan_) / step.share.groups;
}

s64 BoundPlan::rows_at_a_time(const CallerTensor& tensor) const {
  std::optional<s64> images;
  for (const PlanStep& step : plan_.steps) {
    const auto touches = [&](u32 b) { return b != kNoBuffer && is_of(plan_.buffers[b], tensor); };
    if (std::ranges::none_of(step.inputs, touches) && std::ranges::none_of(step.outputs, touches))
      continue;
    const s64 taken = step.share.groups > 1 ? batch_of(plan_) / step.share.groups : 0;
    if (images.value_or(taken) != taken) return 0;
    images = taken;
  }
  return images.value_or(0);
}

void BoundPlan::place_rows(const CallerTensor& tensor, std::span<std::byte* const> rows) {
  (tensor.is_output ? output_rows_ : input_rows_)[tensor.index] = rows;
}

// What a kernel of the host holds itself it finds here too: no pointer of an input that the node has is null.
std::byte* BoundPlan::constant_of(const PlanStep& step, size_t i) const {
  if (step.node >= plan_.graph.nodes.size()) return nullptr;
  const Tensor* constant = plan_.graph.constant_input(plan_.graph.nodes[step.node], i);
  if (constant == nullptr || !plan_.devices[step.device]->has_host_memory()) return nullptr;
  return const_cast<std::byte*>(constant->data());  // NOLINT: inputs are only read
}

std::byte* BoundPlan::resolve(u32 b, s64 lane) {
  if (b == kNoBuffer || plan_.buffers[b].is_of_caller()) return nullptr;
  const Buffer& buffer = plan_.buffers[b];
  if (buffer.kind == Buffer::Kind::constant) return constants_[b].get();
  const s64 slice = buffer.sliced ? plan_.slices.offset + lane * plan_.slices.bytes : 0;
  return arenas_[buffer.space].get() + slice + buffer.offset + buffer.origin_bytes;
}

void BoundPlan::bind_caller(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  for (const Lane& lane : lanes_) {
    for (const CallerPointer& pointer : lane.caller) {
      // Inputs are only read: a step's pointer array has one type for both directions.
      *pointer.slot = pointer.is_output ? outputs[pointer.index].mutable_data()
                                        : const_cast<std::byte*>(inputs[pointer.index].data());
    }
  }
}

StepArgs BoundPlan::step_args(size_t s, s64 lane) {
  const PlanStep& step = plan_.steps[s];
  std::byte** pointers = lanes_[static_cast<size_t>(lane)].pointers.data() + first_pointer_[s];
  const Slices& slices = plan_.slices;
  const s64 workspace = step.share.by_thread
                            ? slices.offset + lane * slices.bytes + slices.workspace_offset
                            : plan_.arenas[step.device].workspace_offset;
  return {pointers, pointers + step.inputs.size(), arenas_[step.device].get() + workspace,
          queue_of(step, lane)};
}

// A lane may have helpers.
Queue& BoundPlan::queue_of(const PlanStep& step, s64 lane) {
  if (!step.share.by_thread || step.sharing == Sharing::alone) return queues_.of(step);
  const Lane& own = lanes_[static_cast<size_t>(lane)];
  return step.sharing == Sharing::pieces ? *own.pieces : *own.chunks;
}

s64 BoundPlan::lanes_of(const Run& run) const {
  return run.share.by_thread ? std::min(plan_.slices.count, run.share.groups) : 1;
}

// Lane i takes the i-th part of the groups, whichever thread runs it: a thread that is late leaves its part to another.
BoundPlan::Groups BoundPlan::groups_of(const Run& run, s64 lane) const {
  const s64 groups = run.share.groups, lanes = lanes_of(run);
  return {groups * lane / lanes, groups * (lane + 1) / lanes};
}

// Open to helpers as long as it lasts.
template <class F>
void BoundPlan::run_lane(size_t run, s64 index, const F& visit) {
  Lane& lane = lanes_[static_cast<size_t>(index)];
  lane.pool->open();
  try {
    visit_groups(run, index, groups_of(runs_[run], index),
                 [&](size_t s, const StepArgs& args, s64 group) {
                   visit(s, args, group);
                   lane.left->store(lane.left->load(std::memory_order_relaxed) - 1,
                                    std::memory_order_relaxed);
                 });
  } catch (...) {
    lane.error = std::current_exception();
  }
  lane.pool->close();
}

// What a thread does when it is done with its lane. Cores differ, and where each thread has one image all would wait for the
// slowest. A lane that nobody has begun is more urgent: the pool gives it to whoever comes back.
void BoundPlan::help_others(s64 lanes) {
  while (Lane* lane = neediest(lanes)) lane->pool->join();
}

BoundPlan::Lane* BoundPlan::neediest(s64 lanes) {
  Lane* found = nullptr;
  s64 most = 0;
  for (s64 i = 0; i < lanes; ++i) {
    Lane& lane = lanes_[static_cast<size_t>(i)];
    const s64 left = lane.left->load(std::memory_order_relaxed);
    if (left > 0 && !lane.pool->is_open()) return nullptr;
    const s64 threads = lane.pool->size();
    if (threads > kMostHelpers || left / threads <= most) continue;
    most = left / threads;
    found = &lane;
  }
  return found;
}

template <class F>
void BoundPlan::visit_in_lanes(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                               const F& visit) {
  bind_caller(inputs, outputs);
  const Awaited awaited(queues_);
  for (size_t r = 0; r < runs_.size(); ++r) {
    const Run& run = runs_[r];
    const s64 lanes = lanes_of(run);
    if (lanes == 1) {
      visit_groups(r, 0, {0, run.share.groups}, visit);
      continue;
    }
    for (s64 lane = 0; lane < lanes; ++lane) {
      const Groups groups = groups_of(run, lane);
      *lanes_[static_cast<size_t>(lane)].left =
          (groups.end - groups.begin) * static_cast<s64>(run.end - run.first);
    }
    queues_.pool().parallel_for(lanes, [&](s64 begin, s64 end, int) {
      for (s64 lane = begin; lane < end; ++lane) run_lane(r, lane, visit);
      help_others(lanes);
    });
    rethrow_first_error();
  }
  queues_.synchronize();
}

// No exception leaves a piece of parallel_for; those of several lanes are the same but for the image.
void BoundPlan::rethrow_first_error() {
  std::exception_ptr first;
  for (Lane& lane : lanes_) {
    const std::exception_ptr error = std::exchange(lane.error, nullptr);
    if (first == nullptr) first = error;
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void BoundPlan::await_inputs(size_t s) const {
  try {
    if (awaited_[s] != nullptr) awaited_[s]->synchronize();
  } catch (Error& error) {
    // Else it names the step that failed.
    if (error.context().empty()) error.add_context("running '" + plan_.steps[s].name + "'");
    throw;
  }
}

void BoundPlan::run_step(size_t s, const StepArgs& args) const {
  await_inputs(s);
  try {
    steps_[s](args);
  } catch (Error& error) {
    error.add_context("running '" + plan_.steps[s].name + "'");
    throw;
  }
}

void BoundPlan::count_reference_work() {
  const std::vector<bool> constant = constant_nodes(plan_.graph);
  f64 most = 0, of_constants = 0, most_of_constants = 0;
  std::string slowest_constant;
  for (const PlanStep& step : plan_.steps) {
    if (step.kernel != "reference" || step.node >= plan_.graph.nodes.size()) continue;
    const Node& node = plan_.graph.nodes[step.node];
    if (has_body(node)) continue;  // its bodies count as they run
    const f64 steps =
        work_of(node, types_of(plan_.graph, node.inputs), types_of(plan_.graph, node.outputs));
    reference_steps_ += steps;
    if (constant[step.node]) {
      of_constants += steps;
      if (steps > most_of_constants) slowest_constant = describe(node);
      most_of_constants = std::max(most_of_constants, steps);
    }
    if (steps <= most) continue;
    most = steps;
    slowest_ = describe(node);
  }
  RunWork::check_constant(of_constants, slowest_constant);
  RunWork::check(reference_steps_, slowest_);
}

bool BoundPlan::is_of_device() const {
  const auto of_host = [](const PlanStep& step) { return step.device == kHost; };
  const auto in_host = [](const Buffer& buffer) { return buffer.space == kHost; };
  return std::ranges::none_of(plan_.steps, of_host) &&
         std::ranges::none_of(plan_.buffers, in_host) &&
         std::ranges::all_of(runs_, [](const Run& r) { return r.share.groups == 1; });
}

void BoundPlan::give(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  OCTET_CHECK(is_of_device());
  bind_caller(inputs, outputs);
  try {
    for (const Run& run : runs_) run_whole(run);
  } catch (...) {
    const Awaited awaited(queues_);
    throw;
  }
}

void BoundPlan::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (reference_steps_ > 0 && RunWork::is_counting()) RunWork::take(reference_steps_, slowest_);
  const bool whole = plan_.devices.size() > 1 &&
                     std::ranges::all_of(runs_, [](const Run& r) { return r.share.groups == 1; });
  if (!whole)
    return visit_in_lanes(inputs, outputs,
                          [&](size_t s, const StepArgs& args, s64) { run_step(s, args); });
  bind_caller(inputs, outputs);
  const Awaited awaited(queues_);
  for (const Run& run : runs_) run_whole(run);
  queues_.synchronize();
}

void BoundPlan::run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                          std::span<f64> step_us) {
  struct Span {
    std::unique_ptr<Event> begin, end;
  };
  std::vector<std::vector<Span>> spans(plan_.steps.size());  // of each group of each step
  for (size_t s = 0; s < spans.size(); ++s) {
    Queue& queue = queues_.of(plan_.steps[s]);
    for (s64 group = 0; group < plan_.steps[s].share.groups; ++group)
      spans[s].push_back({queue.make_event(), queue.make_event()});
  }
  visit_in_lanes(inputs, outputs, [&](size_t s, const StepArgs& args, s64 group) {
    const Span& span = spans[s][static_cast<size_t>(group)];
    args.queue.record(*span.begin);
    run_step(s, args);
    args.queue.record(*span.end);
  });
  for (const Run& run : runs_) {
    for (size_t s = run.first; s < run.end; ++s) {
      for (const Span& span : spans[s])
        step_us[s] += span.end->microseconds_since(*span.begin) / static_cast<f64>(lanes_of(run));
    }
  }
}

}  // namespace octet
