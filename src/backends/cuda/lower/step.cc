// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/step.h"

#include <algorithm>

#include "core/check.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

std::shared_ptr<std::byte> upload(const CudaDevice& device, const std::vector<std::byte>& bytes) {
  std::shared_ptr<std::byte> memory =
      device.allocate(static_cast<s64>(bytes.size()), "what a kernel makes of constants");
  const CudaQueue queue(device);
  queue.check_call(driver().cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(memory.get()), bytes.data(),
                                         bytes.size()),
                   "to copy constants");
  return memory;
}

}  // namespace

BlobRecipe constant_blob(const Tensor& tensor) {
  return {"constant", {tensor}, [tensor] {
            return std::vector<std::byte>(tensor.data(), tensor.data() + tensor.bytes());
          }};
}

Preparation prepare_kernel(const CudaDevice& device, KernelSource source) {
  std::string key = std::string(device.name()) + ' ' + source.key();
  return preparation<HeldKernel>(key, {}, [&device, source = std::move(source)] {
    return HeldKernel{load_kernel(device, source)};
  });
}

Preparation prepare_blob(const CudaDevice& device, BlobRecipe recipe) {
  const std::string key = recipe.key.empty() ? "" : std::string(device.name()) + ' ' + recipe.key;
  return preparation<DeviceBlob>(
      key, std::move(recipe.constants),
      [&device, make = std::move(recipe.make)] { return DeviceBlob{upload(device, make())}; });
}

std::vector<HeldLaunch> held_launches(std::span<const Launch> launches, const BindArgs& bind) {
  std::vector<HeldLaunch> held;
  for (const Launch& launch : launches) {
    auto kernel = bind.prepared_as<HeldKernel>(held.size());
    kernel->kernel->allow_shared_bytes(launch.shape.shared_bytes);
    held.push_back({std::move(kernel), launch.shape, launch.part, launch.rounds, launch.every});
  }
  return held;
}

s64 rounds_of(std::span<const HeldLaunch> launches) {
  s64 rounds = 0;
  for (const HeldLaunch& launch : launches) rounds = std::max(rounds, launch.rounds);
  return rounds;
}

Candidate candidate_of(const LowerRequest& request, std::string kernel, Layout layout) {
  Candidate candidate;
  candidate.kernel = std::move(kernel);
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool activation = request.has_input(i) && request.constant(i) == nullptr;
    const bool image = activation && request.inputs[i].shape.rank() == 4;
    candidate.inputs.push_back(image ? layout : Layout::linear);
  }
  for (const TensorType& type : request.outputs)
    candidate.outputs.push_back(type.shape.rank() == 4 ? layout : Layout::linear);
  candidate.holds = request.constants();
  return candidate;
}

Layout common_layout(const LowerRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool activation = request.has_input(i) && request.constant(i) == nullptr;
    if (activation && request.inputs[i].shape.rank() == 4 && request.layouts[i] == Layout::nhwc)
      return Layout::nhwc;
  }
  return Layout::linear;
}

std::vector<s64> strides_of(const Shape& shape, const Placement& placement) {
  if (placement.layout == Layout::linear) {
    std::vector<s64> strides(static_cast<size_t>(shape.rank()));
    s64 step = 1;
    for (int d = shape.rank(); d-- > 0;) {
      strides[static_cast<size_t>(d)] = step;
      step *= shape[d];
    }
    return strides;
  }
  OCTET_CHECK(placement.layout == Layout::nhwc);
  const s64 pixel = placement.pixel_stride != 0 ? placement.pixel_stride : shape[1];
  const s64 row = placement.row_stride != 0 ? placement.row_stride : shape[3] * pixel;
  const s64 image = placement.image_stride != 0 ? placement.image_stride : shape[2] * row;
  return {image, 1, row, pixel};
}

LaunchShape blocks_for(const CudaDevice& device, s64 items, int threads) {
  constexpr s64 kBlocksEach = 16;  // of one multiprocessor
  const s64 most = kBlocksEach * device.chip().multiprocessors;
  return {.blocks = std::clamp<s64>(ceil_div(items, s64{threads}), 1, most),
          .threads = threads,
          .programmatic_dependent = true};
}

}  // namespace octet::cuda
