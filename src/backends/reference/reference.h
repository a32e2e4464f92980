// SPDX-License-Identifier: Apache-2.0
// Steps of the host that any backend with host memory can take: an operator through its definition (OpDef::eval), changes of
// layout, constants and borders, all by plain loops.
#pragma once

#include "plan/backend.h"

namespace octet {

Candidate reference_candidate(const LowerRequest& request);
Candidate reference_convert(const TensorType& type, Layout from, Layout to, const Target& target);
Candidate reference_constant(const Tensor& tensor);
RunStep reference_fill_border(const BorderFill& border);

}  // namespace octet
