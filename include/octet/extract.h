// SPDX-License-Identifier: Apache-2.0
// A part of an ONNX model, cut at named tensors, as a model of its own: to build, compare or report a bug of that part alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet {

struct ExtractOptions {
  // Tensors of the graph that become the part's inputs; empty: those inputs of the model that the outputs need.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // tensors of the graph; empty: the model's own
};

struct ExtractReport {
  int64_t nodes = 0;         // of the part
  int64_t all_nodes = 0;     // of the model
  int64_t initializers = 0;  // of the part
  std::vector<TensorInfo> inputs, outputs;
};

// The bytes of an ONNX file with the nodes between these tensors as they stand, weights inside. Opset, functions and metadata stay; a
// producer "octet" is noted. Throws one Error(invalid_argument) that lists names which the graph does not have, inputs that nothing between
// needs and inputs of the model that are needed beside those named; Error(unsupported) past the size of one ONNX file.
std::vector<std::byte> extract_onnx(const std::filesystem::path& onnx_file,
                                    const ExtractOptions& options, ExtractReport* report = nullptr);

// The bytes of the model with these tensors as further outputs, as far as its graph computes them: for whoever runs it to look inside. Of values
// that an exported model holds equalized they are the network's own.
// `added` gets their names. Errors as of extract_onnx().
std::vector<std::byte> onnx_with_outputs(const std::filesystem::path& onnx_file,
                                         const std::vector<std::string>& tensors,
                                         std::vector<std::string>& added);

}  // namespace octet
