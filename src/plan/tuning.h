// SPDX-License-Identifier: Apache-2.0
// What a layer is called among measured choices.
#pragma once

#include <string>

#include "octet/tuning.h"
#include "plan/offer.h"

namespace octet {

// "QConv{group=1,pads=ints[1, 1, 1, 1]}(u8[1,64,56,56] nhwc, s8[64,64,3,3] const, _) -> u8[1,64,56,56]": types with the layout in which
// the producer leaves them; attributes, and the elements of small constants that are no weights, as in the text of a graph. parse_layer()
// reads it (inspect/explain/layer_text.h).
std::string layer_signature(const LowerRequest& asked);

TuningKey tuning_key(const LowerRequest& asked);

// Bytes of the longest name of a layer that a tuning file keeps.
constexpr size_t kMaxTunedName = 4096;

}  // namespace octet
