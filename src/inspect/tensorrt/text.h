// SPDX-License-Identifier: Apache-2.0
// The two texts that TensorRT's inspector makes of a layer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace octet {

// An object with a key on each line, anything else on one.
std::string inspector_json(const nlohmann::ordered_json& value);
// "Name: conv1, LayerType: CaskConvolution, Inputs: [ { Name: x, ... }], Kernel: [3,3]"
std::string inspector_line(const nlohmann::ordered_json& value);

}  // namespace octet
