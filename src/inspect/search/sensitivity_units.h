// SPDX-License-Identifier: Apache-2.0
// The layers of a float model whose precision is a question, and the sets of them that must move together.
#pragma once

#include <string>
#include <vector>

#include "pipeline/float_model.h"
#include "precision/constraints.h"

namespace octet {

struct SensitiveUnit {
  std::vector<size_t> nodes;  // of the graph
  std::string tensor;         // that several read
  Precision precision = Precision::none;
  f64 share = 0;  // of the model's work: that of the nodes and of whatever depends on them
};

// For counting work: what only a run tells counts as 1, as a batch does.
std::vector<TensorType> sized_types(const Graph& graph, const std::vector<ValueId>& ids);

// Layers that multiply and have an integer form: INT8, or kept in f32 because of what codes would cost. In the order of the graph; sets behind
// the layers.
std::vector<SensitiveUnit> sensitive_units(const FloatModel& model, const PrecisionPlan& plan);

// What is asked of each node: `unit` alone in INT8; all of the units in f32 where it is null.
std::vector<LayerRequest> alone(const FloatModel& model, const std::vector<SensitiveUnit>& units,
                                const SensitiveUnit* unit);
// `unit` in f32, and the others as the build makes them.
std::vector<LayerRequest> without(const FloatModel& model, const SensitiveUnit& unit);

}  // namespace octet
