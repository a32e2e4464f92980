// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/backend.h"

namespace octet::cuda {

const Backend& cuda_backend();

}  // namespace octet::cuda
