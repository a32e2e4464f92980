// SPDX-License-Identifier: Apache-2.0
// Calibration data in which nothing changes: ranges found on them say nothing of the data to come.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/calibrate.h"
#include "pipeline/observe.h"

namespace octet {

// Throws Error(invalid_argument) where an input for images, or every input, is one number in all samples: files of zeros, a
// preprocessing that leaves nothing. Others may well be so, a mask or a flag: of these DataSource's notes tell. What holds one number a
// sample is not judged, nor are states, which begin with zeros.
void check_inputs_change(std::span<const TensorInfo> inputs, std::span<const InputSummary> seen,
                         const CalibrationOptions& options);

// The same where no value that the graph computes changes. One line about those that do not where some do; empty where all do.
// `observations`: one for each of `values`.
std::string constant_values(const Graph& graph, std::span<const ValueId> values,
                            std::span<const TensorObservation> observations,
                            const CalibrationOptions& options);

}  // namespace octet
