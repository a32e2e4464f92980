// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/convert.h"

#include "backends/cuda/lower/move.h"

namespace octet::cuda {

Candidate cuda_convert(const TensorType& type, Layout from, Layout to, const Target& target) {
  Candidate candidate;
  candidate.kernel = "move_cuda";
  candidate.inputs = {from};
  candidate.outputs = {to};
  candidate.strided = true;
  const CudaDevice& device = cuda_device(target.device);
  if (type.shape.elements() == 0) {
    candidate.bind = [](const BindArgs&) -> RunStep { return [](const StepArgs&) {}; };
    return candidate;
  }
  set_step(candidate, device,
           {.make_launch =
                [&device, type](const BindArgs& bind) {
                  return walk_launch(device, copy_walk(type, bind));
                }},
           [](const StepData& data) { return move_params(data.input(0), data.output()); });
  return candidate;
}

}  // namespace octet::cuda
