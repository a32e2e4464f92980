// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/kernel_trial.h"

#include <algorithm>
#include <cstring>

#include "plan/bind.h"
#include "plan/groups.h"

namespace octet {
namespace {

bool is_dense(const TensorType& type, const Placement& placement) {
  if (placement.layout == Layout::linear) return true;
  return placement.border == 0 && placement.pixel_stride == type.shape[1];
}

}  // namespace

KernelTrial::Form KernelTrial::dense(const TensorType& type, Layout layout) const {
  Form form{type, dense_placement(type, layout, 0), nullptr, nullptr};
  form.storage = allocate(format_bytes(type, form.placement));
  form.data = form.storage.get();
  return form;
}

TensorType KernelTrial::type_of(const Buffer& buffer) const {
  return group_type(setting_.plan.graph.value(buffer.value).type, setting_.step.share.groups);
}

KernelTrial::Form KernelTrial::like(const Buffer& buffer, const TensorType& type) const {
  Form form{type, buffer.placement, nullptr, nullptr};
  form.storage = allocate(buffer.bytes);
  form.data = form.storage.get() + buffer.origin_bytes;
  return form;
}

std::shared_ptr<std::byte> KernelTrial::allocate(s64 bytes) const {
  return setting_.target.device->allocate(bytes, "measuring a kernel");
}

KernelTrial::Form KernelTrial::input(u32 b, const std::byte* data) const {
  const Buffer& buffer = setting_.plan.buffers[b];
  // Inputs are only read: forms have one type for both directions.
  return {type_of(buffer), buffer.placement, const_cast<std::byte*>(data), nullptr};
}

// The plan's own kernel may hold it.
bool KernelTrial::reads_constant(const Candidate& candidate, size_t i) const {
  const Graph& graph = setting_.plan.graph;
  const Node& node = graph.nodes[setting_.step.node];
  return graph.constant_input(node, i) != nullptr && !candidate.holds_input(i);
}

KernelTrial::Form KernelTrial::constant_input(size_t i) const {
  const Graph& graph = setting_.plan.graph;
  const Tensor& constant = *graph.constant_input(graph.nodes[setting_.step.node], i);
  Form form = dense(constant.type(), Layout::linear);
  setting_.queue.copy(form.data, constant.data(), constant.type().bytes());
  setting_.queue.synchronize();
  return form;
}

void KernelTrial::finish(const Step& step) const {
  step();
  setting_.queue.synchronize();
}

KernelTrial::Step KernelTrial::conversion(const Form& from, const Form& to) const {
  const Target& target = setting_.target;
  const Candidate convert = target.device->backend().convert(from.type, from.placement.layout,
                                                             to.placement.layout, target);
  return [run = bind_alone(convert, {{from.placement}, {to.placement}}), from, to,
          &queue = setting_.queue] {
    const std::byte* src = from.data;
    std::byte* dst = to.data;
    run({&src, &dst, nullptr, queue});
  };
}

// The value as its producer left it, then as the kernel wants it: what changes in between is the kernel's time.
KernelTrial::Form KernelTrial::take_input(const Form& live, Layout given, Layout wanted,
                                          bool strided) {
  const bool fits = strided || is_dense(live.type, live.placement);
  if (wanted == live.placement.layout && wanted == given && fits) return live;
  Form source = live;
  if (given != live.placement.layout) {
    source = dense(live.type, given);
    finish(conversion(live, source));
  }
  const Form form = dense(live.type, wanted);
  if (wanted == given) {
    finish(conversion(source, form));
  } else {
    before_.push_back(conversion(source, form));
  }
  return form;
}

KernelTrial::KernelTrial(const Setting& setting, const Candidate& candidate, const StepArgs& args)
    : setting_(setting),
      workspace_(allocate(candidate.workspace_bytes)),
      begin_(setting.queue.make_event()),
      end_(setting.queue.make_event()) {
  const PlanStep& step = setting.step;
  BindArgs bind;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const u32 b = step.inputs[i];
    bind.inputs.emplace_back();
    input_data_.push_back(nullptr);
    if (b == kNoBuffer && !reads_constant(candidate, i)) continue;
    const Form live = b == kNoBuffer ? constant_input(i) : input(b, args.inputs[i]);
    inputs_.push_back(take_input(live, step.given[i], candidate.inputs[i], candidate.strided));
    bind.inputs.back() = inputs_.back().placement;
    input_data_.back() = inputs_.back().data;
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const u32 b = step.outputs[i];
    bind.outputs.emplace_back();
    output_data_.push_back(nullptr);
    if (b == kNoBuffer) continue;
    output_buffers_.push_back(b);
    const Buffer& buffer = setting.plan.buffers[b];
    const TensorType type = type_of(buffer);
    const bool as_planned = candidate.outputs[i] == buffer.placement.layout &&
                            (candidate.strided || is_dense(type, buffer.placement));
    if (!as_planned) {
      outputs_.push_back(dense(type, candidate.outputs[i]));
    } else if (std::count(args.inputs, args.inputs + step.inputs.size(), args.outputs[i]) > 0) {
      outputs_.push_back(like(buffer, type));  // in place it would destroy what the others read
    } else {
      outputs_.push_back({type, buffer.placement, args.outputs[i], nullptr});
    }
    // Its readers want the planned layout.
    if (candidate.outputs[i] != buffer.placement.layout)
      after_.push_back(conversion(outputs_.back(), dense(type, buffer.placement.layout)));
    bind.outputs.back() = outputs_.back().placement;
    output_data_.back() = outputs_.back().data;
  }
  kernel_ = bind_alone(candidate, std::move(bind), setting.store);
}

f64 KernelTrial::run() {
  Queue& queue = setting_.queue;
  queue.record(*begin_);
  for (const Step& step : before_) step();
  kernel_({input_data_.data(), output_data_.data(), workspace_.get(), queue});
  for (const Step& step : after_) step();
  queue.record(*end_);
  queue.synchronize();
  return end_->microseconds_since(*begin_);
}

Layout KernelTrial::planned_layout(size_t output) const {
  return setting_.plan.buffers[output_buffers_[output]].placement.layout;
}

std::vector<KernelTrial::Form> KernelTrial::results() {
  std::vector<Form> copies;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    copies.push_back(dense(outputs_[i].type, planned_layout(i)));
    finish(conversion(outputs_[i], copies.back()));
  }
  return copies;
}

bool KernelTrial::gives(const std::vector<Form>& results) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Form& own = outputs_[i];
    const bool lies_so =
        own.placement.layout == planned_layout(i) && is_dense(own.type, own.placement);
    if (lies_so && same_bytes(own, results[i])) continue;
    if (lies_so) return false;
    const Form copy = dense(own.type, planned_layout(i));
    finish(conversion(own, copy));
    if (!same_bytes(copy, results[i])) return false;
  }
  return true;
}

// Both dense. Large results stay where they are, if the device can compare them.
bool KernelTrial::same_bytes(const Form& a, const Form& b) const {
  const Device& device = *setting_.target.device;
  const s64 bytes = format_bytes(a.type, a.placement);
  if (device.has_host_memory()) return std::memcmp(a.data, b.data, static_cast<size_t>(bytes)) == 0;
  Queue& queue = setting_.queue;
  if (device.backend().compare != nullptr) {
    const Form flag = dense({Dtype::s32, {1}}, Layout::linear);
    const RunStep compare = bind_alone(device.backend().compare(bytes, setting_.target),
                                       {{{}, {}}, {{}}}, setting_.store);
    const std::byte* both[] = {a.data, b.data};
    std::byte* to = flag.data;
    compare({both, &to, nullptr, queue});
    s32 differ = 0;
    queue.copy(reinterpret_cast<std::byte*>(&differ), to, sizeof differ);
    queue.synchronize();
    return differ == 0;
  }
  std::vector<std::byte> on_host[2];
  for (const auto& [form, host] : {std::pair(&a, &on_host[0]), std::pair(&b, &on_host[1])}) {
    host->resize(static_cast<size_t>(bytes));
    queue.copy(host->data(), form->data, bytes);
  }
  queue.synchronize();
  return on_host[0] == on_host[1];
}

}  // namespace octet
