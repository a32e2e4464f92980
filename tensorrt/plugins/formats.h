// SPDX-License-Identifier: Apache-2.0
// What a plugin can run on: every combination of types and formats that supportsFormatCombination() admits is looked for, without
// TensorRT's limit of 100.
#pragma once

#include <string>
#include <vector>

#include "tensorrt/plugins/object.h"

namespace octet_trt {

struct TypedFormat {
  DataType type = DataType::kFLOAT;
  TensorFormat format = TensorFormat::kLINEAR;
  bool operator==(const TypedFormat&) const = default;
};
using PluginCombo = std::vector<TypedFormat>;  // of inputs, then outputs

// What Octet is told of a plugin: plugins of one signature are one operator.
struct PluginSignature {
  std::string type;            // of the plugin, for people
  std::vector<int32_t> ranks;  // of inputs, then outputs; with the batch where it is implicit
  int32_t inputs = 0;
  int32_t shapes = 0;  // shape inputs, which stand between inputs and outputs and have no formats
  std::vector<PluginCombo> combos;  // the first is of reals, if any is
  std::vector<int32_t> sized;       // outputs of which others tell a size
};

// `io` has the types that the network gives and wants; where a plugin takes no floats the combinations are of halves. Throws octet::Error
// with the matrix of what was offered and refused. Warns where there are more combinations than an operator may have.
PluginSignature negotiate(const PluginObject& plugin, const PluginName& name, const PluginIo& io,
                          const Reporter& reporter);

}  // namespace octet_trt
