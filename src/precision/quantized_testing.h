// SPDX-License-Identifier: Apache-2.0
// For tests: a graph becomes integers as a calibrated model does.
#pragma once

#include "ops/quantized/weight_codes.h"
#include "passes/pass.h"
#include "precision/precision.h"

namespace octet {

inline void quantize_as_calibrated(Graph& graph, const Ranges& ranges,
                                   const PrecisionOptions& options = {}) {
  WeightCodes weight_codes;
  assign_precision(graph, ranges, options);
  place_qdq(graph, ranges, weight_codes);
  run_passes(graph, quantize_passes(), {}, nullptr);
  finish_decisions(graph);
}

}  // namespace octet
