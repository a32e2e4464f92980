// SPDX-License-Identifier: Apache-2.0
#include "passes/infer_types.h"

#include <algorithm>
#include <optional>

#include "core/check.h"

namespace octet {
namespace {

struct SampleSizes {
  s64 batch;
  s64 other;  // any dimension that is neither batch nor the size of an image
  s64 image;  // height and width: a multiple of 32, as detectors ask
};

std::vector<Shape> sample_shapes(const Graph& graph, const SampleSizes& sizes) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) {
    Shape shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] >= 0) continue;
      const bool image = shape.rank() == 4 && d >= 2;
      shape[d] = d == 0 ? sizes.batch : (image ? sizes.image : sizes.other);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

bool has_dynamic_input(const Graph& graph) {
  for (ValueId id : graph.inputs) {
    if (!graph.value(id).type.shape.is_static()) return true;
  }
  return false;
}

bool has_types_from_data(const Propagated& types) {
  return std::ranges::find(types.from_data, true) != types.from_data.end();
}

SampledTypes sample(const Graph& graph, PropagateOptions options) {
  SampledTypes types;
  options.sample = 5;
  types.first = propagate(graph, sample_shapes(graph, {2, 8, 224}), options);
  if (!has_dynamic_input(graph) && !has_types_from_data(types.first)) {
    types.second = types.first;
    return types;
  }
  options.sample = 7;
  types.second = propagate(graph, sample_shapes(graph, {3, 9, 256}), options);
  return types;
}

void fix_batch(Graph& graph) {
  for (ValueId id : graph.inputs) {
    Shape& shape = graph.value(id).type.shape;
    if (shape.rank() > 0 && shape[0] < 0) shape[0] = 1;
  }
}

SampledTypes sample_or_fix_batch(Graph& graph, const PropagateOptions& options) {
  if (!has_dynamic_input(graph)) return sample(graph, options);
  std::optional<Error> dynamic_error;
  try {
    return sample(graph, options);
  } catch (const Error& error) {
    dynamic_error = error;
  }
  Graph fixed = graph;
  fix_batch(fixed);
  try {
    SampledTypes types = sample(fixed, options);
    graph = std::move(fixed);
    return types;
  } catch (const Error&) {
    throw *dynamic_error;
  }
}

// Samples of data may disagree even about rank and element type.
TensorType merge(const TensorType& first, const TensorType& second) {
  const Shape& a = first.shape;
  const Shape& b = second.shape;
  if (first.dtype != second.dtype || a.rank() != b.rank()) return {first.dtype, Shape::unknown()};
  Shape shape = a;
  for (int d = 0; d < a.rank(); ++d) {
    if (a[d] != b[d]) shape[d] = Shape::kDynamic;
  }
  return {first.dtype, shape};
}

}  // namespace

SampledTypes infer_types(Graph& graph, const PropagateOptions& options) {
  SampledTypes types = sample_or_fix_batch(graph, options);
  std::vector<bool> is_input(graph.value_count(), false);
  for (ValueId id : graph.inputs) is_input[id] = true;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (is_input[id] || graph.is_constant(id)) continue;
    graph.value(id).type = merge(types.first.types[id], types.second.types[id]);
  }
  return types;
}

}  // namespace octet
