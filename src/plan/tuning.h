// SPDX-License-Identifier: Apache-2.0
// What a layer is called among measured choices.
#pragma once

#include <string>

#include "octet/tuning.h"
#include "plan/offer.h"

namespace octet {

// "QConv{group=1,pads=[1,1,1,1]}(u8[1,64,56,56] nhwc, s8[64,64,3,3] const, _) -> u8[1,64,56,56]"
std::string layer_signature(const LowerRequest& asked);

TuningKey tuning_key(const LowerRequest& asked);

}  // namespace octet
