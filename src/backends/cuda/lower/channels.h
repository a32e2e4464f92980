// SPDX-License-Identifier: Apache-2.0
// Concatenations of channels in a plan for a GPU, whose parts are written where they belong (plan/placing.cc) if nothing else needs them elsewhere.
#pragma once

#include "graph/graph.h"

namespace octet::cuda {

// A concatenation that holds all parts of one value, as blocks that split their input and keep it do, reads that value; one that begins with, or holds, what another has joined already reads its result.
void share_concatenations(Graph& graph);

}  // namespace octet::cuda
