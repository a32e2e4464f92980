// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <algorithm>
#include <cstring>

#include "backends/backends.h"
#include "core/check.h"
#include "core/memory.h"
#include "core/rounds.h"
#include "core/run_work.h"
#include "graph/op_def.h"
#include "runtime/in_stream.h"
#include "runtime/inside.h"

namespace octet {
namespace {

Target target_for(const ContextOptions& options, int threads) {
  Target target = make_target(options.device, threads, options.tuning);
  target.chains = options.chains;
  return target;
}

std::shared_ptr<ThreadPool> pool_for(const ContextOptions& options) {
  return options.pool != nullptr ? options.pool : make_thread_pool(std::max(1, options.threads));
}

bool is_plan_for(const Plan& plan, std::span<const Shape> shapes, const CallerMemory& memory) {
  return std::ranges::equal(plan.input_types, shapes, {}, &TensorType::shape) &&
         plan.caller == memory;
}

void check_outputs(std::span<const Tensor> outputs, std::span<const TensorType> types,
                   std::string_view advice) {
  if (outputs.size() != types.size()) {
    fail(Error::Code::invalid_argument, "the model has {} outputs, got {}", types.size(),
         outputs.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (outputs[i] && outputs[i].type() == types[i]) continue;
    fail(Error::Code::invalid_argument, "output {} has type {}, the buffer given has {}{}", i,
         to_string(types[i]), outputs[i] ? to_string(outputs[i].type()) : "none", advice);
  }
}

// Of views whose memory has more rows than they.
void check_rows(std::span<const MutableTensorView> outputs, std::span<const TensorType> types) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type == types[i]) continue;
    fail(Error::Code::invalid_argument, "output {} has type {}, the buffer given has {}", i,
         to_string(types[i]), to_string(outputs[i].type));
  }
}

// A context keeps nothing of the caller's memory after the call, whatever its end.
class Released {
 public:
  explicit Released(ViewBinding& views) : views_(views) {}
  ~Released() { views_.release(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  ViewBinding& views_;
};

// What counts and stands for the length of one run.
struct RunScope {
  RunScope(BodyRunner& runner, const Device& device) : bodies(runner), unchanged(device) {}

  LoopRounds rounds;
  RunWork work;
  BodyRunner::Scope bodies;
  CurrentDevice unchanged;
};

std::vector<Tensor> fresh_outputs(const BoundPlan& bound) {
  std::vector<Tensor> outputs;
  for (const TensorType& type : bound.plan().output_types)
    outputs.emplace_back(type.dtype, type.shape);
  return outputs;
}

}  // namespace

std::shared_ptr<ThreadPool> make_thread_pool(int threads) {
  return without_bad_alloc([&] { return std::make_shared<ThreadPool>(threads); });
}

Context::Impl::Impl(std::shared_ptr<const Model> m, std::shared_ptr<PreparedStore> s,
                    const ContextOptions& options)
    : Impl(std::move(m), std::move(s), options, pool_for(options)) {}

Context::Impl::Impl(std::shared_ptr<const Model> m, std::shared_ptr<PreparedStore> s,
                    const ContextOptions& options, const std::shared_ptr<ThreadPool>& pool)
    : model(std::move(m)),
      store(std::move(s)),
      target(target_for(options, pool->size())),
      queues(target, pool),
      growing(model->graph, target, queues, *store),
      views(model->graph, *target.device),
      // Threads of their own: those of the pool belong to the run that a body is part of.
      bodies({.threads = pool->size(), .tuning = options.tuning}, store) {}

BoundPlan* Context::Impl::bound_plan(std::span<const Shape> shapes, const CallerMemory& memory) {
  const auto at = std::ranges::find_if(
      plans, [&](const BoundPlan& p) { return is_plan_for(p.plan(), shapes, memory); });
  if (at != plans.end()) {
    plans.splice(plans.begin(), plans, at);
    return &plans.front();
  }
  if (staged) return nullptr;
  try {
    Plan plan = make_plan(model->graph, shapes, target, memory);
    const ThreadPool::Turn turn(queues.pool());
    plans.emplace_front(std::move(plan), queues, *store);
    ++plans_made;
  } catch (const NeedsData&) {
    staged.emplace(model->graph, target, queues, *store);
    return nullptr;
  }
  if (plans.size() > kMaxPlans) plans.pop_back();
  return &plans.front();
}

std::vector<Shape> Context::Impl::shapes_of(std::span<const Tensor> inputs) const {
  constexpr auto kCode = Error::Code::invalid_argument;
  const Graph& graph = model->graph;
  if (inputs.size() != graph.inputs.size()) {
    fail(kCode, "the model has {} inputs, got {}", graph.inputs.size(), inputs.size());
  }
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    if (!inputs[i] || inputs[i].dtype() != value.type.dtype) {
      fail(kCode, "input '{}' expects {}, got {}", value.name, to_string(value.type),
           inputs[i] ? to_string(inputs[i].type()) : "nothing");
    }
    shapes.push_back(inputs[i].shape());
  }
  return shapes;
}

BoundPlan* Context::Impl::bound_plan(std::span<const Tensor> inputs) {
  if (!plans.empty() && plans.front().plan().caller == views.memory() &&
      std::ranges::equal(inputs, plans.front().plan().input_types, {}, &Tensor::type))
    return &plans.front();
  return bound_plan(shapes_of(inputs), views.memory());
}

std::optional<GrowingRuns::Run> Context::Impl::growing_run(std::span<const Tensor> inputs) {
  grown_outputs.clear();
  if (!grows || !growing.has_caches()) return std::nullopt;
  const std::vector<Shape> shapes = shapes_of(inputs);
  const bool planned = std::ranges::any_of(
      plans, [&](const BoundPlan& p) { return is_plan_for(p.plan(), shapes, views.memory()); });
  if (planned) return std::nullopt;
  const auto run = growing.find_or_make(shapes, views.memory(), 0);
  if (run) grown_outputs = growing.output_types(*run);
  return run;
}

bool Context::Impl::run_in_place(std::span<const TensorView> inputs,
                                 std::span<const MutableTensorView> outputs,
                                 const RunOptions& options) {
  if (!grows || options.cache_rows == 0) return false;
  const auto found = growing.whole_of(inputs, outputs, options.cache_rows);
  if (const auto* reject = std::get_if<Reject>(&found)) {
    growing.check_can_copy(inputs, outputs, reject->reason);
    return false;
  }
  const auto* whole = std::get_if<GrowingRuns::Whole>(&found);
  std::vector<Shape> shapes;
  for (const TensorView& view : inputs) shapes.push_back(view.type.shape);
  const RunScope scope(bodies, *target.device);
  const std::span<const Tensor> from = views.bind_inputs(whole->inputs);
  const std::span<Tensor> to = views.bind_outputs(whole->outputs);
  shapes_of(from);
  const auto run = growing.find_or_make(shapes, views.memory(), whole->rows);
  if (!run) {
    growing.check_can_copy(inputs, outputs, growing.reject());
    return false;
  }
  last_was_staged = false;
  grown_outputs = growing.output_types(*run);
  std::vector<TensorType> types = grown_outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    if (run->bound->growing.continues[i])
      types[i].shape[run->bound->growing.outputs[i].axis] = whole->rows;
  }
  check_outputs(to, types, "");
  check_rows(outputs, grown_outputs);
  growing.execute(*run, from, to, options);
  views.deliver(whole->outputs, queues.device());
  return true;
}

CallerMemory Context::Impl::all_in(std::string_view memory) const {
  if (memory == "cpu") return {};
  if (memory != target.device->name())
    fail(Error::Code::invalid_argument, "this context has no memory of '{}', only of 'cpu'{}",
         memory,
         target.device == target.host ? "" : fmt::format(" and '{}'", target.device->name()));
  const std::vector<bool> inputs(model->graph.inputs.size(), true);
  return {inputs, std::vector<bool>(model->graph.outputs.size(), true), inputs};
}

void Context::Impl::execute(BoundPlan& bound, std::span<const Tensor> inputs,
                            std::span<Tensor> outputs, const RunOptions& options) {
  const ThreadPool::Turn turn(queues.pool());
  if (!options.stream) return bound.run(inputs, outputs);
  InStream stream(queues.device(), options.stream);
  if (bound.is_of_device())
    bound.give(inputs, outputs);
  else
    bound.run(inputs, outputs);
  stream.end();
}

bool Context::Impl::prepare_growing(std::span<const Shape> shapes, const CallerMemory& memory) {
  grown_outputs.clear();
  if (!grows || !growing.has_caches()) return false;
  check_input_shapes(model->graph, shapes);
  const auto run = growing.find_or_make(shapes, memory, 0);
  if (!run) return false;
  last_was_staged = false;
  grown_outputs = growing.output_types(*run);
  return true;
}

std::vector<Tensor> Context::Impl::run(std::span<const Tensor> inputs, const RunOptions& options) {
  const RunScope scope(bodies, *target.device);
  if (const auto grown = growing_run(inputs)) {
    last_was_staged = false;
    std::vector<Tensor> outputs;
    for (const TensorType& type : grown_outputs) outputs.emplace_back(type.dtype, type.shape);
    growing.execute(*grown, inputs, outputs, options);
    return outputs;
  }
  BoundPlan* bound = bound_plan(inputs);
  last_was_staged = bound == nullptr;
  if (bound == nullptr) {
    bring_to_host(options);
    return run_staged(inputs);
  }
  std::vector<Tensor> outputs = fresh_outputs(*bound);
  execute(*bound, inputs, outputs, options);
  return outputs;
}

void Context::Impl::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                             const RunOptions& options) {
  const RunScope scope(bodies, *target.device);
  if (const auto grown = growing_run(inputs)) {
    last_was_staged = false;
    check_outputs(outputs, grown_outputs, "");
    return growing.execute(*grown, inputs, outputs, options);
  }
  BoundPlan* bound = bound_plan(inputs);
  last_was_staged = bound == nullptr;
  if (bound == nullptr) {
    bring_to_host(options);
    return run_staged_into(inputs, outputs);
  }
  check_outputs(outputs, bound->plan().output_types, "");
  execute(*bound, inputs, outputs, options);
}

void Context::Impl::bring_to_host(const RunOptions& options) {
  if (options.stream) queues.device().begin_after(*options.stream);
  views.move_to_host(queues.device());
}

std::vector<Tensor> Context::Impl::run_staged(std::span<const Tensor> inputs) {
  const ThreadPool::Turn turn(queues.pool());
  std::vector<Tensor> outputs = staged->run(inputs);
  staged_outputs.clear();
  for (const Tensor& output : outputs) staged_outputs.push_back(output.type());
  return outputs;
}

std::vector<Tensor> Context::Impl::run_observed(std::span<const Tensor> inputs,
                                                const RunObserver& observer) {
  const RunScope scope(bodies, *target.device);
  BoundPlan* bound = bound_plan(inputs);
  const ThreadPool::Turn turn(queues.pool());
  if (bound == nullptr) return staged->run(inputs, &observer);
  std::vector<Tensor> outputs = fresh_outputs(*bound);
  observer.run_plan(*bound, inputs, outputs);
  return outputs;
}

void Context::Impl::run_staged_into(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<Tensor> results = run_staged(inputs);
  check_outputs(outputs, staged_outputs,
                "; sizes of this model depend on its data: use run(), which returns fresh tensors");
  for (size_t i = 0; i < results.size(); ++i) {
    std::memcpy(outputs[i].mutable_data(), results[i].data(), results[i].bytes());
  }
}

Context Inside::context(std::shared_ptr<const Model> model, const ContextOptions& options,
                        std::shared_ptr<PreparedStore> store) {
  return Context(without_bad_alloc([&] {
    const CurrentDevice unchanged(find_device(options.device));
    if (store == nullptr) store = std::make_shared<PreparedStore>();
    return std::make_unique<Context::Impl>(std::move(model), std::move(store), options);
  }));
}

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Context::~Context() {
  if (impl_ == nullptr) return;
  const CurrentDevice unchanged(*impl_->target.device);
  impl_.reset();
}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

void Context::prepare(std::span<const Shape> input_shapes, std::string_view memory) {
  without_bad_alloc([&] {
    const CurrentDevice unchanged(*impl_->target.device);
    if (impl_->prepare_growing(input_shapes, impl_->all_in(memory))) return;
    impl_->last_was_staged = impl_->bound_plan(input_shapes, impl_->all_in(memory)) == nullptr;
    if (!impl_->last_was_staged) return;
    const ThreadPool::Turn turn(impl_->queues.pool());
    impl_->staged_outputs = impl_->staged->prepare(input_shapes);
  });
}

std::vector<TensorType> Context::output_types() const {
  if (!impl_->grown_outputs.empty()) return impl_->grown_outputs;
  if (impl_->last_was_staged) return impl_->staged_outputs;
  return impl_->plans.empty() ? std::vector<TensorType>{}
                              : impl_->plans.front().plan().output_types;
}

void Context::synchronize() {
  const CurrentDevice unchanged(*impl_->target.device);
  impl_->queues.synchronize();
}

int64_t plans_made(const Context& context) {
  const Context::Impl& impl = Inside::impl(context);
  return impl.plans_made + impl.growing.plans_made() +
         (impl.staged ? impl.staged->plans_made() : 0);
}

Tensor Context::make_tensor(const TensorType& type) const {
  return without_bad_alloc([&] {
    const CurrentDevice unchanged(*impl_->target.device);
    return Tensor(type, impl_->target.device->allocate_host(type.bytes(), "a tensor"));
  });
}

std::vector<Tensor> Context::run(std::span<const Tensor> inputs) {
  return without_bad_alloc([&] { return impl_->run(inputs, {}); });
}

void Context::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  without_bad_alloc([&] { impl_->run_into(inputs, outputs, {}); });
}

std::vector<Tensor> Context::run(std::span<const TensorView> inputs, const RunOptions& options) {
  return without_bad_alloc([&] {
    if (options.cache_rows != 0)
      fail(Error::Code::invalid_argument,
           "cache_rows is for runs into memory of the caller; give outputs, or leave it 0");
    const CurrentDevice unchanged(*impl_->target.device);
    const Released at_end(impl_->views);
    return impl_->run(impl_->views.bind_inputs(inputs), options);
  });
}

void Context::run_into(std::span<const TensorView> inputs,
                       std::span<const MutableTensorView> outputs, const RunOptions& options) {
  without_bad_alloc([&] {
    const CurrentDevice unchanged(*impl_->target.device);
    const Released at_end(impl_->views);
    if (impl_->run_in_place(inputs, outputs, options)) return;
    const std::span<const Tensor> bound = impl_->views.bind_inputs(inputs);
    impl_->run_into(bound, impl_->views.bind_outputs(outputs), options);
    impl_->views.deliver(outputs, impl_->queues.device());
  });
}

}  // namespace octet
