// SPDX-License-Identifier: Apache-2.0
// Plans a graph of any origin for small input sizes and runs it once, where that is little work.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "fuzz/fuzz.h"
#include "octet/engine.h"
#include "plan/plan.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet::fuzz {

// A node's work is at most about the product of two of its values.
inline constexpr s64 kMaxElements = 1 << 12;
inline constexpr size_t kMaxNodes = 64;
inline constexpr s64 kDynamicSize = 2;

inline bool is_small(const Graph& graph) {
  if (graph.nodes.size() > kMaxNodes) return false;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.value(id).type.shape.is_static() &&
        graph.value(id).type.shape.elements() > kMaxElements)
      return false;
  }
  return true;
}

// Codes of all sizes and floats of both signs, the same for every run.
inline Tensor filled(const TensorType& type) {
  Tensor tensor(type.dtype, type.shape);
  auto* bytes = reinterpret_cast<u8*>(tensor.mutable_data());
  u32 state = 7;
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<u8>(type.dtype == Dtype::boolean ? state >> 31 : state >> 24);
  }
  return tensor;
}

inline std::vector<Shape> small_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.inputs) {
    Shape shape = graph.value(id).type.shape;
    for (int d = 0; d < shape.rank(); ++d) shape[d] = shape[d] < 0 ? kDynamicSize : shape[d];
    shapes.push_back(shape);
  }
  return shapes;
}

// Throws what planning throws.
inline void plan_and_run(std::shared_ptr<const Model> model) {
  const std::vector<Shape> shapes = small_shapes(model->graph);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const TensorType type{model->graph.value(model->graph.inputs[i]).type.dtype, shapes[i]};
    if (type.bytes() > kMaxElements * 8) return;
    inputs.push_back(filled(type));
  }
  if (!is_small(model->graph) || !is_small(specialize(model->graph, shapes))) return;
  ContextOptions options;
  Context context = Inside::context(std::move(model), options);
  context.run(inputs);
}

}  // namespace octet::fuzz
