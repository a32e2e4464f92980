// SPDX-License-Identifier: Apache-2.0
// Samples along another axis than the first.
#pragma once

#include <span>
#include <vector>

#include "octet/data.h"

namespace octet {

// [2,N,128] with axis 1 is [N,2,128], and back.
Shape axis_to_front(const Shape& shape, int axis);
Shape front_to_axis(const Shape& shape, int axis);
// The elements follow.
Tensor axis_to_front(const Tensor& tensor, int axis);

// What of the inputs comes from data: all but the states, with their samples along the first axis.
struct DataInputs {
  std::vector<TensorInfo> infos;
  std::vector<int> axes;  // of each, as the model has it
};
// Throws Error(invalid_argument) for names and axes that are none, and for states whose size is not known.
DataInputs data_inputs(const DataOptions& options, std::span<const TensorInfo> inputs);

// The inputs of one run of what data gave: states are 0.
std::vector<Tensor> with_states(std::vector<Tensor> sample, const DataOptions& options,
                                std::span<const TensorInfo> inputs);

}  // namespace octet
