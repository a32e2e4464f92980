// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/compare/lower.h"

#include "backends/cuda/families/compare/spec.h"
#include "backends/cuda/lower/step.h"

namespace octet::cuda {

Candidate cuda_compare(s64 bytes, const Target& target) {
  const CudaDevice& device = cuda_device(target.device);
  const compare::Spec spec{.bytes = bytes};
  const Launch launch{.source = source_of("compare", spec),
                      .shape = blocks_for(device, pieces(spec), compare::kThreads)};
  Candidate candidate;
  candidate.kernel = "compare";
  candidate.inputs = {Layout::linear, Layout::linear};
  candidate.outputs = {Layout::linear};
  set_step(
      candidate, device, {.make_launch = [launch](const BindArgs&) { return launch; }},
      [](const StepData& data) {
        return compare::Params{data.input(0), data.input(1), reinterpret_cast<s32*>(data.output())};
      });
  return candidate;
}

}  // namespace octet::cuda
