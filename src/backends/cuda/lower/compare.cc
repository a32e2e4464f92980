// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/compare.h"

#include "backends/cuda/lower/step.h"

namespace octet::cuda {

Candidate cuda_compare(s64 bytes, const Target& target) {
  constexpr s64 kAtOnce = 16;
  const CudaDevice& device = cuda_device(target.device);
  Launch launch{.source = {"compare", {}}, .shape = blocks_for(device, bytes / kAtOnce)};
  launch.source.set("BYTES", bytes);
  Candidate candidate;
  candidate.kernel = "compare";
  candidate.inputs = {Layout::linear, Layout::linear};
  candidate.outputs = {Layout::linear};
  set_step(candidate, device, {.make_launch = [launch](const BindArgs&) { return launch; }},
           [](const StepData& data) {
             return params::CompareParams{data.input(0), data.input(1),
                                          reinterpret_cast<s32*>(data.output())};
           });
  return candidate;
}

}  // namespace octet::cuda
