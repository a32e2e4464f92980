// SPDX-License-Identifier: Apache-2.0
// A kernel of the CPU's for values in blocks of channels, which it does not know: they are repacked before it and after it.
#pragma once

#include "plan/offer.h"

namespace octet {

// The candidate with input 0 and output 0, where they are nhwc, in the layouts given. Kernels that do not copy what they could
// lose that, since what lies in blocks lies nowhere else.
Candidate with_blocks(Candidate candidate, const LowerRequest& request, Layout input,
                      Layout output);

}  // namespace octet
