// SPDX-License-Identifier: Apache-2.0
// Products of constants alone, which plans do not fold since they may be long (position embeddings of a length that the plan is the
// first to know): computed once, when the plan is bound, by the kernel that would run them. Each run copies the result.
#pragma once

#include <optional>

#include "plan/backend.h"
#include "plan/offer.h"

namespace octet {

// Whether such results are worth keeping: those of products.
bool has_kept_result(const Node& node);

// For a node whose inputs are all constants. Nothing where it is another kind of node, or the device's memory is not the host's.
std::optional<Candidate> kept_result(const LowerRequest& asked, const Backend& backend);

}  // namespace octet
