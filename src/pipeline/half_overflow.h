// SPDX-License-Identifier: Apache-2.0
// Results of f16 layers that go beyond f16's largest number: found on data, since weights do not tell.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pipeline/float_model.h"
#include "precision/constraints.h"

namespace octet {

struct HalfOverflow {
  ValueId value = kNoValue;
  size_t layer = 0;  // that gives it, by its place in the graph
  f32 largest = 0;   // magnitude on the data
};

// Among what `layers` give, by what calibration saw: the same from data and from their cache.
std::vector<HalfOverflow> overflows_by_ranges(const Graph& graph, std::span<const size_t> layers,
                                              const Ranges& ranges);

struct OverflowSearch {
  const Graph& graph;
  std::span<const size_t> layers;
  const Ranges* known = nullptr;  // values that need no look
};
// Likewise, on some of the samples.
std::vector<HalfOverflow> overflows_by_data(const OverflowSearch& search,
                                            const CalibrationOptions& data,
                                            const StageOptions& stage);

// Takes out what layers give for which somebody asks for f16: they get it.
std::vector<HalfOverflow> take_asked(const Requests& requests, std::vector<HalfOverflow>& found);

// One line for all of them; `instead`: the layers around get another type.
std::string overflow_line(const Graph& graph, std::span<const HalfOverflow> found, bool instead);

// By the names of their ONNX nodes, those of `layers` that give or read such a value, and are not asked to be f16: bf16 holds it.
std::unordered_map<std::string, Decision> types_around(const Graph& graph, const Requests& requests,
                                                       std::span<const size_t> layers,
                                                       std::span<const HalfOverflow> found);

}  // namespace octet
