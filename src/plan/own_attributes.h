// SPDX-License-Identifier: Apache-2.0
// Attributes that plans alone give to nodes. A file that has them is not believed: its plan starts without them.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace octet {

// The 16-bit float that a kernel rounds its own result to: "f16" or "bf16". No plugin can declare a name of the host.
inline constexpr std::string_view kRounds = "octet.rounds";

// 1: the kernel gives channels-last pixels, which all that read its result want.
inline constexpr std::string_view kGivesPixels = "octet.gives_pixels";

inline void erase_own_attributes(Graph& graph) {
  for (Node& node : graph.nodes) {
    node.attrs.erase(kRounds);
    node.attrs.erase(kGivesPixels);
  }
}

}  // namespace octet
