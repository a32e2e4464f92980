// SPDX-License-Identifier: Apache-2.0
// Plugins whose results data size: nobody knows a plan's memory for those, so the host keeps all tensors and the GPU gets copies.
#include <functional>
#include <utility>
#include <vector>

#include "backends/cuda/lower/plugin.h"
#include "backends/cuda/queue.h"
#include "plugin/evaluate.h"

namespace octet::cuda {
namespace {

class SizedCall {
 public:
  SizedCall(CudaQueue& queue, const PluginStep& step)
      : queue_(queue), step_(step), dims_(step.tensors().outputs.size()), told_(dims_.size()) {}

  std::vector<Shape> run(std::span<const void* const> inputs, std::span<void* const> outputs) {
    const CurrentDevice before(queue_.device());
    queue_.device().make_current();
    const PluginStep::Tensors& tensors = step_.tensors();
    place(inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != nullptr) give(in_[i], inputs[i], tensors.inputs[i].bytes());
    }
    begin_dims();
    step_.run(in_.data(), out_.data(), workspace_,
              {.stream = queue_.stream(),
               .device = queue_.device().ordinal(),
               .wait = &wait_,
               .told_dims = told_.data()});
    const std::vector<Shape> sizes = told_sizes();
    for (size_t i = 0; i < outputs.size(); ++i)
      queue_.copy(static_cast<std::byte*>(outputs[i]), static_cast<const std::byte*>(out_[i]),
                  TensorType{tensors.outputs[i].dtype, sizes[i]}.bytes());
    queue_.synchronize();
    return sizes;
  }

 private:
  // Where everything lies in the queue's memory: once to know how much that is, and once in it.
  void place(std::span<const void* const> inputs) {
    const s64 bytes = place_at(nullptr, inputs);
    place_at(queue_.scratch(bytes, "a plugin whose results data size"), inputs);
  }
  s64 place_at(std::byte* base, std::span<const void* const> inputs) {
    const PluginStep::Tensors& tensors = step_.tensors();
    s64 end = 0;
    const auto next = [&](s64 bytes) {
      constexpr s64 kAlign = 256;
      const s64 at = std::exchange(end, end + (bytes + kAlign - 1) / kAlign * kAlign);
      return base == nullptr ? nullptr : base + at;
    };
    in_.clear();
    out_.clear();
    for (size_t i = 0; i < inputs.size(); ++i)
      in_.push_back(inputs[i] == nullptr ? nullptr : next(tensors.inputs[i].bytes()));
    for (const TensorType& type : tensors.outputs) out_.push_back(next(type.bytes()));
    for (size_t i = 0; i < told_.size(); ++i)
      told_[i] = is_open(i) ? reinterpret_cast<s64*>(next(dims_bytes(i))) : nullptr;
    workspace_ = next(step_.workspace_bytes());
    return end;
  }
  void give(const void* to, const void* from, s64 bytes) {
    queue_.copy(static_cast<std::byte*>(const_cast<void*>(to)), static_cast<const std::byte*>(from),
                bytes);
  }
  bool is_open(size_t i) const {
    const std::vector<u64>& open = step_.tensors().open;
    return i < open.size() && open[i] != 0;
  }

  void begin_dims() {
    for (size_t i = 0; i < dims_.size(); ++i) {
      const Shape& most = step_.tensors().outputs[i].shape;
      if (!is_open(i)) continue;
      dims_[i].assign(most.begin(), most.end());
      give(told_[i], dims_[i].data(), dims_bytes(i));
    }
  }
  s64 dims_bytes(size_t i) const {
    return step_.tensors().outputs[i].shape.rank() * s64{sizeof(s64)};
  }
  std::vector<Shape> told_sizes() {
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (is_open(i))
        queue_.copy(reinterpret_cast<std::byte*>(dims_[i].data()),
                    reinterpret_cast<const std::byte*>(told_[i]), dims_bytes(i));
    }
    queue_.synchronize();
    return step_.told_sizes(dims_);
  }

  CudaQueue& queue_;
  const PluginStep& step_;
  const std::function<void()> wait_ = [this] { queue_.synchronize(); };
  std::vector<std::vector<s64>> dims_;  // of each output, where data size it
  std::vector<s64*> told_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  std::byte* workspace_ = nullptr;
};

}  // namespace

bool run_sized_plugin(const Eval& eval, Queue& queue) {
  auto& own = static_cast<CudaQueue&>(queue);
  const auto run = [&own](const PluginStep& step, std::span<const void* const> inputs,
                          std::span<void* const> outputs) {
    return SizedCall(own, step).run(inputs, outputs);
  };
  return eval_plugin_by(eval, {OCTET_DEVICE_CUDA, run});
}

}  // namespace octet::cuda
