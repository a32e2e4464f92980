// SPDX-License-Identifier: Apache-2.0
// What repeats itself along an axis is computed once.
#pragma once

#include "graph/graph.h"

namespace octet {

// Of a graph whose types are known. Exporters make masks of attention as large as the scores: And of a row for each key with a constant that
// has the same for every query. Where nodes that compute element for element make a value larger by nothing but constants that repeat, it keeps
// the axis as one of size 1, as far as all who read it broadcast it; equal nodes become one. The reals are the same.
void narrow_repeats(Graph& graph);

}  // namespace octet
