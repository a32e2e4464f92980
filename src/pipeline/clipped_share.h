// SPDX-License-Identifier: Apache-2.0
// Which tensors of a graph with Q/DQ become codes, where the codes end, and what calibration saw beyond them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/input_profile.h"
#include "precision/precision.h"

namespace octet {

// A QuantizeLinear of an activation, and the reals that it clips: of all channels, or of each (axis 1).
struct Quantized {
  ValueId real = kNoValue;
  std::vector<CodeSpan> ends;

  CodeSpan widest() const;
};

// Each tensor once; of several codes that one gets the first count. Left out are those that only repeat codes: what moves codes gives codes of the same scale.
std::vector<Quantized> quantized_values(const Graph& graph);

// By name, of the tensors that calibration counted, as `ranges` of the values of `counted` say. A histogram knows magnitudes alone: of codes
// whose ends are not alike the farther one counts.
std::map<std::string, f64> clipped_in_calibration(const Graph& with_qdq, const Graph& counted,
                                                  const Ranges& ranges);

}  // namespace octet
