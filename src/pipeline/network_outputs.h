// SPDX-License-Identifier: Apache-2.0
// Values of an exported model under the names that they have in the network.
#pragma once

#include <string>
#include <vector>

#include "onnx/onnx.pb.h"

namespace octet {

// Where the model holds an equalized value in place of one of `tensors`, a node that takes its factors out again and gives it that name.
// They are powers of two, so the numbers are the value's own. Throws Error(invalid_model) for metadata that say something else.
void add_network_values(octet_onnx::ModelProto& model, const std::vector<std::string>& tensors);

}  // namespace octet
