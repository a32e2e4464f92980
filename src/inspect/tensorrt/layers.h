// SPDX-License-Identifier: Apache-2.0
// Layers of a plan with TensorRT's names: of the fused layer, of its type, of reformatted tensors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "inspect/tensorrt/kinds.h"
#include "octet/inspect.h"
#include "plan/plan.h"

namespace octet {

struct TensorRtTensor {
  std::string name;
  TensorType type;
  Layout layout = Layout::linear;
  bool codes = false;    // 8-bit elements with a scale
  bool on_host = false;  // of a plan whose work another device does
};

struct TensorRtLayer {
  std::string name;
  TensorRtKind kind;
  std::vector<TensorRtTensor> inputs;
  std::vector<TensorRtTensor> outputs;
  LayerInfo info;  // the same in our words
};

std::vector<TensorRtLayer> tensorrt_layers(const Plan& plan);
// A node that runs outside plans.
TensorRtLayer tensorrt_layer(const Graph& graph, const Node& node, LayerInfo info);
// No two alike: those that repeat a name get "_2", "_3".
void make_names_unique(std::span<TensorRtLayer> layers);

}  // namespace octet
