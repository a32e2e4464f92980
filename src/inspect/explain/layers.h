// SPDX-License-Identifier: Apache-2.0
// Steps of a plan, and nodes that run outside plans, as the layers that the inspector shows.
#pragma once

#include <string>

#include "octet/inspect.h"
#include "plan/plan.h"

namespace octet {

LayerInfo layer_of(const Plan& plan, const PlanStep& step);

// A node whose sizes depend on data; its types are as the compiler found them.
LayerInfo layer_outside_plans(const Graph& graph, const Node& node, const std::string& why);

}  // namespace octet
