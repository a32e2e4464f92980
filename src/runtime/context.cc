// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <algorithm>
#include <chrono>

#include "backends/backends.h"
#include "core/check.h"
#include "core/memory.h"

namespace octet {
namespace {

// Rows past the last pixel may be read (never used) by kernels: counted storage is zeroed.
std::shared_ptr<std::byte> allocate_arena(s64 bytes) {
  constexpr size_t kPage = 4096;
  return allocate_counted(bytes, kPage, "the plan for these input sizes");
}

bool same_shapes(const Plan& plan, std::span<const Shape> shapes) {
  return std::ranges::equal(plan.input_types, shapes, {}, &TensorType::shape);
}

}  // namespace

BoundPlan::BoundPlan(Plan plan)
    : plan_(std::move(plan)), arena_(allocate_arena(plan_.arena_bytes)) {
  size_t count = 0;
  for (const PlanStep& step : plan_.steps) {
    first_pointer_.push_back(count);
    count += step.inputs.size() + step.outputs.size();
  }
  pointers_.resize(count);
  std::byte** slot = pointers_.data();
  for (const PlanStep& step : plan_.steps) {
    for (const std::vector<u32>* buffers : {&step.inputs, &step.outputs}) {
      for (u32 b : *buffers) {
        *slot = resolve(b);
        if (b != kNoBuffer && plan_.buffers[b].kind != Buffer::Kind::arena) {
          caller_.push_back(
              {slot, plan_.buffers[b].kind == Buffer::Kind::output, plan_.buffers[b].index});
        }
        ++slot;
      }
    }
  }
}

std::byte* BoundPlan::resolve(u32 b) {
  if (b == kNoBuffer || plan_.buffers[b].kind != Buffer::Kind::arena) return nullptr;
  return arena_.get() + plan_.buffers[b].offset + plan_.buffers[b].origin_bytes;
}

void BoundPlan::bind_caller(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  for (const CallerPointer& pointer : caller_) {
    // Inputs are only read: a step's pointer array has one type for both directions.
    *pointer.slot = pointer.is_output ? outputs[pointer.index].mutable_data()
                                      : const_cast<std::byte*>(inputs[pointer.index].data());
  }
}

void BoundPlan::run_step(size_t s, ThreadPool& pool) {
  const PlanStep& step = plan_.steps[s];
  std::byte** pointers = pointers_.data() + first_pointer_[s];
  step.run({pointers, pointers + step.inputs.size(), arena_.get() + plan_.workspace_offset, pool});
}

void BoundPlan::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, ThreadPool& pool) {
  bind_caller(inputs, outputs);
  for (size_t s = 0; s < plan_.steps.size(); ++s) run_step(s, pool);
}

void BoundPlan::run_timed(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                          ThreadPool& pool, std::span<f64> step_us) {
  bind_caller(inputs, outputs);
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    const auto start = std::chrono::steady_clock::now();
    run_step(s, pool);
    step_us[s] +=
        std::chrono::duration<f64, std::micro>(std::chrono::steady_clock::now() - start).count();
  }
}

Context::Impl::Impl(std::shared_ptr<const Model> m, const ContextOptions& options)
    : model(std::move(m)),
      target{detect_isa(), std::max(1, options.threads)},
      pool(target.threads) {}

BoundPlan& Context::Impl::bound_plan(std::span<const Shape> shapes) {
  const auto at = std::ranges::find_if(
      plans, [&](const BoundPlan& p) { return same_shapes(p.plan(), shapes); });
  if (at != plans.end()) {
    plans.splice(plans.begin(), plans, at);
    return plans.front();
  }
  plans.emplace_front(make_plan(model->graph, shapes, cpu_backend(), target));
  if (plans.size() > kMaxPlans) plans.pop_back();
  return plans.front();
}

BoundPlan& Context::Impl::bound_plan(std::span<const Tensor> inputs) {
  constexpr auto kCode = Error::Code::invalid_argument;
  const Graph& graph = model->graph;
  if (inputs.size() != graph.inputs.size()) {
    fail(kCode, "the model has {} inputs, got {}", graph.inputs.size(), inputs.size());
  }
  if (!plans.empty() &&
      std::ranges::equal(inputs, plans.front().plan().input_types, {}, &Tensor::type))
    return plans.front();
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    if (!inputs[i] || inputs[i].dtype() != value.type.dtype) {
      fail(kCode, "input '{}' expects {}, got {}", value.name, to_string(value.type),
           inputs[i] ? to_string(inputs[i].type()) : "nothing");
    }
    shapes.push_back(inputs[i].shape());
  }
  return bound_plan(shapes);
}

Context::Context(std::shared_ptr<const Model> model, const ContextOptions& options)
    : impl_(without_bad_alloc([&] { return std::make_unique<Impl>(std::move(model), options); })) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

void Context::prepare(std::span<const Shape> input_shapes) {
  without_bad_alloc([&] { impl_->bound_plan(input_shapes); });
}

std::vector<TensorType> Context::output_types() const {
  return impl_->plans.empty() ? std::vector<TensorType>{}
                              : impl_->plans.front().plan().output_types;
}

std::vector<Tensor> Context::run(std::span<const Tensor> inputs) {
  return without_bad_alloc([&] {
    BoundPlan& bound = impl_->bound_plan(inputs);
    std::vector<Tensor> outputs;
    for (const TensorType& type : bound.plan().output_types)
      outputs.emplace_back(type.dtype, type.shape);
    bound.run(inputs, outputs, impl_->pool);
    return outputs;
  });
}

void Context::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  BoundPlan& bound = without_bad_alloc([&]() -> BoundPlan& { return impl_->bound_plan(inputs); });
  const std::vector<TensorType>& types = bound.plan().output_types;
  if (outputs.size() != types.size()) {
    fail(Error::Code::invalid_argument, "the model has {} outputs, got {}", types.size(),
         outputs.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (outputs[i] && outputs[i].type() == types[i]) continue;
    fail(Error::Code::invalid_argument, "output {} has type {}, the buffer given has {}", i,
         to_string(types[i]), outputs[i] ? to_string(outputs[i].type()) : "none");
  }
  without_bad_alloc([&] { bound.run(inputs, outputs, impl_->pool); });
}

}  // namespace octet
