// SPDX-License-Identifier: Apache-2.0
// Plugins with combinations for CUDA pointers: they get those of the plan, its workspace and its stream.
#include "backends/cuda/lower/plugin.h"

#include <functional>

#include "backends/cuda/lower/step.h"
#include "backends/host/plugin_offer.h"

namespace octet::cuda {
namespace {

// What one bound step calls with; one run at a time uses it.
struct PluginOnDevice {
  std::shared_ptr<const PluginStep> step;
  std::vector<std::shared_ptr<const DeviceBlob>> constants;  // of each input, or null
  std::vector<const void*> inputs;

  void run(const StepArgs& args) {
    CudaQueue& queue = cuda_queue(args);
    queue.device().make_current();
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = constants[i] != nullptr ? constants[i]->as<void>() : args.inputs[i];
    const std::function<void()> wait = [&queue] { queue.synchronize(); };
    step->run(inputs.data(), reinterpret_cast<void* const*>(args.outputs), args.workspace,
              {nullptr, queue.stream(), queue.device().ordinal(), &wait});
  }
};

void set_device_bind(Candidate& candidate, const LowerRequest& asked,
                     const std::shared_ptr<const PluginStep>& step) {
  std::vector<BlobRecipe> blobs;
  std::vector<bool> is_constant;
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    const Tensor* constant = asked.constant(i);
    is_constant.push_back(constant != nullptr);
    if (constant != nullptr) blobs.push_back(constant_blob(*constant));
  }
  candidate.prepare = [&device = device_of(asked), blobs](const BindArgs&) {
    std::vector<Preparation> all;
    for (const BlobRecipe& blob : blobs) all.push_back(prepare_blob(device, blob));
    return all;
  };
  candidate.bind = [step, is_constant](const BindArgs& bind) -> RunStep {
    auto call = std::make_shared<PluginOnDevice>();
    call->step = step;
    call->inputs.resize(is_constant.size());
    size_t blob = 0;
    for (const bool constant : is_constant)
      call->constants.push_back(constant ? bind.prepared_as<DeviceBlob>(blob++) : nullptr);
    return [call](const StepArgs& args) { call->run(args); };
  };
}

}  // namespace

PluginOffers offer_plugin_on_device(const LowerRequest& asked) {
  return offer_plugins(asked, {OCTET_DEVICE_CUDA, false, set_device_bind});
}

}  // namespace octet::cuda
