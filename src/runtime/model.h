// SPDX-License-Identifier: Apache-2.0
// The portable artefact: a graph whose integer results docs/numerics.md defines to the bit, and what the user should know
// of how it was made. An engine file holds one Model and nothing of the machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/preprocess.h"

namespace octet {

struct Model {
  Graph graph;
  std::string source;    // file name of the ONNX model, without its folder
  std::string producer;  // who wrote it
  std::optional<Preprocess> preprocess;
  std::string range_method;  // "entropy", "minmax"; empty without calibration
  s64 calibration_samples = 0;
};

}  // namespace octet
