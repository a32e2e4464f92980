// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/op_def.h"

namespace octet {

// eval_node() with another function in place of the operator's own: one that computes the same elsewhere.
std::vector<Tensor> eval_node_by(const Node& node, std::span<const Tensor> inputs, s64 max_bytes,
                                 const std::function<void(const Eval&)>& eval);

}  // namespace octet
