// SPDX-License-Identifier: Apache-2.0
// What normalizations with constant parameters share.
#pragma once

#include <string>

#include "plan/offer.h"

namespace octet::cuda {

// Why the inputs behind x, scale and bias among them, are not constants of f32; or empty.
std::string norm_parameters_reject(const LowerRequest& request);

}  // namespace octet::cuda
