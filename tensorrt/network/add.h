// SPDX-License-Identifier: Apache-2.0
// How a layer comes into a network.
#pragma once

#include <algorithm>

#include "tensorrt/network/emit.h"
#include "tensorrt/network/network.h"

namespace octet_trt {

template <class Layer>
Layer* Network::add(LayerType type, const char* kind, std::vector<ITensor*> inputs, int outputs) {
  for (ITensor* input : inputs) own(input);
  const std::string number = std::to_string(layers.size());
  auto layer =
      std::make_unique<Layer>(*this, type, "(Unnamed Layer* " + number + ") [" + kind + "]");
  for (ITensor* input : inputs) layer->inputs.push_back(static_cast<Tensor*>(input));
  for (int i = 0; i < outputs; ++i) {
    const std::string suffix = i == 0 ? "_output" : "_output_" + std::to_string(i);
    auto tensor = std::make_unique<Tensor>(*this, layer->name + suffix);
    tensor->unique_name = unique(tensor->name);
    tensor->producer = layer.get();
    layer->outputs.push_back(std::move(tensor));
  }
  Layer* raw = layer.get();
  layers.push_back(std::move(layer));
  return raw;
}

// An add* function: null and a line in the log where its body throws.
#define OCTET_TRT_ADD(where, Interface, ...)             \
  return guarded(reporter, "INetworkDefinition::" where, \
                 static_cast<Interface*>(nullptr), [&]() -> Interface* __VA_ARGS__)

}  // namespace octet_trt
