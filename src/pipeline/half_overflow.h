// SPDX-License-Identifier: Apache-2.0
// Results of f16 layers that go beyond f16's largest number: found on data, since weights do not tell.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pipeline/float_model.h"

namespace octet {

struct HalfOverflow {
  ValueId value = kNoValue;
  size_t layer = 0;  // that gives it, by its place in the graph
  f32 largest = 0;   // magnitude on the data
};

// Among what `layers` give and read, on some of the samples.
std::vector<HalfOverflow> find_overflows(const Graph& graph, std::span<const size_t> layers,
                                         const CalibrationOptions& data, const StageOptions& stage);

// One line for all of them; `instead`: the layers around get another type.
std::string overflow_line(const Graph& graph, std::span<const HalfOverflow> found, bool instead);

// By the names of their ONNX nodes, those of `layers` that give or read such a value: bf16 holds it.
std::unordered_map<std::string, Decision> types_around(const Graph& graph,
                                                       std::span<const size_t> layers,
                                                       std::span<const HalfOverflow> found);

}  // namespace octet
