// SPDX-License-Identifier: Apache-2.0
// The nodes of a model between named tensors, as messages: what octet/extract.h is made of.
#pragma once

#include <string>
#include <vector>

#include "octet/extract.h"
#include "onnx/external_data.h"
#include "onnx/onnx.pb.h"

namespace octet {

// Leaves in the graph what lies between the tensors. Its inputs and outputs have the types that the file declares, if any.
// Throws as extract_onnx() does.
void cut_graph(octet_onnx::GraphProto& graph, const ExtractOptions& options);

// Makes those of the tensors that nodes of the graph compute outputs too, and gives their names.
std::vector<std::string> add_outputs(octet_onnx::GraphProto& graph,
                                     const std::vector<std::string>& tensors);

// Reads weights that lie in files of their own into the graph and its bodies. Throws Error where one is missing or too small.
void embed_weights(octet_onnx::GraphProto& graph, ExternalData& external);

}  // namespace octet
