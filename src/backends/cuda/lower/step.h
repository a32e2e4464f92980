// SPDX-License-Identifier: Apache-2.0
// What lowerings of a GPU are made of: a step is one launch of one kernel, whose constants are known when values have their places.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/driver.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/queue.h"
#include "plan/format.h"
#include "plan/offer.h"

namespace octet::cuda {

// A kernel, and how many threads run it.
struct Launch {
  KernelSource source;
  LaunchShape shape;
  size_t part = 0;  // which of the step's launches it is, where some may be left out
  // A step may give its launches in turn so many times; this one is among them in each round that is a multiple of `every`.
  s64 rounds = 1;
  s64 every = 1;
};

// Constants of the graph, as a kernel reads them, in the device's memory.
struct DeviceBlob {
  std::shared_ptr<std::byte> memory;

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(memory.get());
  }
};

// A blob of a step: what it is made of and how.
struct BlobRecipe {
  std::string key;                // all that the bytes depend on beside the constants
  std::vector<Tensor> constants;  // of the graph
  std::function<std::vector<std::byte>()> make;
};

// Inputs of the step's parameters.
struct StepData {
  const StepArgs& args;
  std::span<const std::shared_ptr<const DeviceBlob>> blobs;
  s64 round = 0;

  const u8* input(size_t i) const { return reinterpret_cast<const u8*>(args.inputs[i]); }
  u8* output(size_t i = 0) const { return reinterpret_cast<u8*>(args.outputs[i]); }
  template <class T>
  const T* blob(size_t i) const {
    return blobs[i]->template as<T>();
  }
};

// What a step is made of: `make_launch` gets where values lie, `recipes` (may be null) as well.
struct StepParts {
  std::function<Launch(const BindArgs&)> make_launch;
  std::function<std::vector<BlobRecipe>(const BindArgs&)> recipes = nullptr;
};

// A constant of the graph as it lies.
BlobRecipe constant_blob(const Tensor& tensor);

Preparation prepare_kernel(const CudaDevice& device, KernelSource source);
Preparation prepare_blob(const CudaDevice& device, BlobRecipe recipe);
struct HeldKernel {
  std::shared_ptr<const Kernel> kernel;
};

// A launch whose kernel is ready.
struct HeldLaunch {
  std::shared_ptr<const HeldKernel> held;
  LaunchShape shape;
  size_t part;
  s64 rounds, every;

  bool is_in(s64 round) const { return round < rounds && round % every == 0; }
};
// The first preparations are their kernels.
std::vector<HeldLaunch> held_launches(std::span<const Launch> launches, const BindArgs& bind);
s64 rounds_of(std::span<const HeldLaunch> launches);

// Steps of several launches, one after the other.
struct LaunchParts {
  std::function<std::vector<Launch>(const BindArgs&)> make_launches;
  std::function<std::vector<BlobRecipe>(const BindArgs&)> recipes = nullptr;
};

// Sets Candidate::prepare and bind. make_parameters(BindArgs) is called once, and gives a function of StepData and Launch::part whose
// result is the kernel's Params for one run.
template <class Make>
void set_launches(Candidate& candidate, const CudaDevice& device, LaunchParts parts,
                  Make make_parameters) {
  candidate.prepare = [&device, parts](const BindArgs& bind) {
    std::vector<Preparation> all;
    for (Launch& launch : parts.make_launches(bind))
      all.push_back(prepare_kernel(device, std::move(launch.source)));
    if (parts.recipes != nullptr) {
      for (BlobRecipe& recipe : parts.recipes(bind))
        all.push_back(prepare_blob(device, std::move(recipe)));
    }
    return all;
  };
  candidate.bind = [parts, make_parameters](const BindArgs& bind) -> RunStep {
    struct Step {
      std::vector<HeldLaunch> launches;
      std::vector<std::shared_ptr<const DeviceBlob>> blobs;
      decltype(make_parameters(bind)) parameters;
    };
    auto step = std::make_shared<Step>(
        Step{held_launches(parts.make_launches(bind), bind), {}, make_parameters(bind)});
    for (size_t i = step->launches.size(); i < bind.prepared.size(); ++i)
      step->blobs.push_back(bind.prepared_as<DeviceBlob>(i));
    const s64 rounds = rounds_of(step->launches);
    return [step = std::shared_ptr<const Step>(std::move(step)), rounds](const StepArgs& args) {
      for (s64 round = 0; round < rounds; ++round) {
        for (const HeldLaunch& launch : step->launches) {
          if (!launch.is_in(round)) continue;
          cuda_queue(args).launch(*launch.held->kernel, launch.shape,
                                  step->parameters({args, step->blobs, round}, launch.part));
        }
      }
    };
  };
}

// The same for one launch: make_parameters(BindArgs) gives a function of StepData.
template <class Make>
void set_placed_step(Candidate& candidate, const CudaDevice& device, StepParts parts,
                     Make make_parameters) {
  const auto one = [make = std::move(parts.make_launch)](const BindArgs& bind) {
    return std::vector<Launch>{make(bind)};
  };
  set_launches(candidate, device, {one, std::move(parts.recipes)},
               [make_parameters](const BindArgs& bind) {
                 return [parameters = make_parameters(bind)](const StepData& data, size_t) {
                   return parameters(data);
                 };
               });
}

// The same where the parameters do not depend on where values lie.
template <class F>
void set_step(Candidate& candidate, const CudaDevice& device, StepParts parts, F parameters) {
  set_placed_step(candidate, device, std::move(parts),
                  [parameters](const BindArgs&) { return parameters; });
}

// The device that a request is for.
inline const CudaDevice& device_of(const LowerRequest& request) {
  return cuda_device(request.target.device);
}

// A Candidate whose rank-4 activations are all in `layout`, others linear.
Candidate candidate_of(const LowerRequest& request, std::string kernel, Layout layout);
// nhwc where a rank-4 activation comes so, else linear.
Layout common_layout(const LowerRequest& request);

// Elements from one index of each axis to the next, where the value lies as its placement says.
std::vector<s64> strides_of(const Shape& shape, const Placement& placement);

// Blocks of so many threads for `items`, enough to fill the chip and no more: kernels go round. They wait for their predecessor themselves.
LaunchShape blocks_for(const CudaDevice& device, s64 items, int threads = 256);

template <class T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace octet::cuda
