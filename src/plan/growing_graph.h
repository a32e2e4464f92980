// SPDX-License-Identifier: Apache-2.0
// A model's graph over caches of a fixed number of rows, of which a run says how many are in use (plan/growing.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/growing.h"
#include "plan/growing_lengths.h"

namespace octet {

// Why there is no growing graph; make_growing() makes a Reject of it.
struct GrowingRefused {
  std::string reason;
};
[[noreturn]] void refuse_growing(const Node& node, std::string_view why);

// `added`: rows of a run. The length is the last input. Throws GrowingRefused.
Graph write_growing(const Graph& from, const GrowingLengths& lengths, std::span<const Cache> caches,
                    s64 added);

}  // namespace octet
