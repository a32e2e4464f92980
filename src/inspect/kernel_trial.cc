// SPDX-License-Identifier: Apache-2.0
#include "inspect/kernel_trial.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/memory.h"
#include "plan/groups.h"

namespace octet {
namespace {

constexpr size_t kPage = 4096;
constexpr const char* kWhat = "measuring a kernel";

bool is_dense(const TensorType& type, const Placement& placement) {
  if (placement.layout == Layout::linear) return true;
  return placement.border == 0 && placement.pixel_stride == type.shape[1];
}

}  // namespace

KernelTrial::Form KernelTrial::dense(const TensorType& type, Layout layout) const {
  Form form{type, dense_placement(type, layout, 0), nullptr, nullptr};
  form.storage = allocate_counted(type.bytes(), kPage, kWhat);
  form.data = form.storage.get();
  return form;
}

TensorType KernelTrial::type_of(const Buffer& buffer) const {
  return group_type(setting_.plan.graph.value(buffer.value).type, setting_.step.groups);
}

KernelTrial::Form KernelTrial::like(const Buffer& buffer, const TensorType& type) const {
  Form form{type, buffer.placement, nullptr, nullptr};
  form.storage = allocate_counted(buffer.bytes, kPage, kWhat);
  form.data = form.storage.get() + buffer.origin_bytes;
  return form;
}

KernelTrial::Step KernelTrial::conversion(const Form& from, const Form& to) const {
  const Candidate convert = setting_.backend.convert(from.type, from.placement.layout,
                                                     to.placement.layout, setting_.target);
  return [run = convert.bind({{from.placement}, {to.placement}}), from, to, &pool = setting_.pool] {
    const std::byte* src = from.data;
    std::byte* dst = to.data;
    run({&src, &dst, nullptr, pool});
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
    conversion(live, source)();
  }
  const Form form = dense(live.type, wanted);
  if (wanted == given) {
    conversion(source, form)();
  } else {
    before_.push_back(conversion(source, form));
  }
  return form;
}

KernelTrial::KernelTrial(const Setting& setting, const Candidate& candidate, const StepArgs& args)
    : setting_(setting), workspace_(allocate_counted(candidate.workspace_bytes, kPage, kWhat)) {
  const PlanStep& step = setting.step;
  BindArgs bind;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const u32 b = step.inputs[i];
    bind.inputs.emplace_back();
    input_data_.push_back(nullptr);
    if (b == kNoBuffer) continue;
    const Buffer& buffer = setting.plan.buffers[b];
    // Inputs are only read: forms have one type for both directions.
    const Form live{type_of(buffer), buffer.placement, const_cast<std::byte*>(args.inputs[i]),
                    nullptr};
    inputs_.push_back(take_input(live, step.given[i], candidate.inputs[i], candidate.strided));
    bind.inputs.back() = inputs_.back().placement;
    input_data_.back() = inputs_.back().data;
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const u32 b = step.outputs[i];
    bind.outputs.emplace_back();
    output_data_.push_back(nullptr);
    if (b == kNoBuffer) continue;
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
  kernel_ = candidate.bind(bind);
}

f64 KernelTrial::run() {
  const auto start = std::chrono::steady_clock::now();
  for (const Step& step : before_) step();
  kernel_({input_data_.data(), output_data_.data(), workspace_.get(), setting_.pool});
  for (const Step& step : after_) step();
  const std::chrono::duration<f64, std::micro> spent = std::chrono::steady_clock::now() - start;
  return spent.count();
}

std::vector<Tensor> KernelTrial::results() {
  std::vector<Tensor> tensors;
  for (const Form& form : outputs_) {
    tensors.emplace_back(form.type.dtype, form.type.shape);
    const Form linear{form.type, {}, tensors.back().mutable_data(), nullptr};
    conversion(form, linear)();
  }
  return tensors;
}

}  // namespace octet
