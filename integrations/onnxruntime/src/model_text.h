// SPDX-License-Identifier: Apache-2.0
// A part of the host's graph as the bytes of an ONNX model, which is what Octet builds engines of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "graph.h"

namespace octet_ort {

// Throws Error(unsupported) for an attribute that the host does not show, and for a model beyond the size of one ONNX file.
std::vector<std::byte> model_of(const Host& host, const Graph& graph, const Part& part);

// Whether the constants within the bytes of an ONNX file are those of the session, as far as both have them: a program may have put others in
// their place. Empty where they are; else the name of one that is not, or that lies in a file of weights, which nobody reads here. Throws Error(invalid_model) for bytes that are no such file.
std::string different_constant(const Host& host, const Graph& graph, std::string_view file);

}  // namespace octet_ort
