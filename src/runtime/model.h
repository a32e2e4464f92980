// SPDX-License-Identifier: Apache-2.0
// The portable artefact: a graph whose integer results docs/numerics.md defines to the bit, and what the user should know
// of how it was made. An engine file holds one Model and nothing of the machine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octet/constraints.h"
#include "octet/input_profile.h"
#include "octet/preprocess.h"
#include "runtime/equalized.h"

namespace octet {

// What the build was asked for. What became of it is in the graph: its nodes know the ONNX nodes in them.
struct AskedPrecisions {
  ConstraintMode mode = ConstraintMode::prefer;
  std::vector<PrecisionConstraint> constraints = {};
  std::vector<NodeRequest> nodes = {};  // that the constraints are about
};

class KeptGraph;  // runtime/kept_graph.h

struct Model {
  Graph graph;
  // File name of the ONNX model in older engines. None in new ones: a copy of a model gives the same engine.
  std::string source;
  std::string producer;  // who wrote it
  std::optional<Preprocess> preprocess;
  std::string range_method;  // "entropy", "minmax"; empty without calibration
  s64 calibration_samples = 0;
  std::vector<InputProfile> calibrated_inputs = {};  // one for each input, or none
  // By the tensor that becomes codes: the part of calibration's values that lay beyond them. Tensors without a histogram are not listed.
  std::map<std::string, f64> calibration_clipped = {};
  EqualizedValues equalized = {};
  AskedPrecisions constraints = {};
  // What else the build knew, as octet/provenance.h writes it; empty: it did not say.
  std::string provenance = {};
  // What the graph was quantized from, with its Q/DQ; null where nothing became integer.
  std::shared_ptr<const KeptGraph> with_qdq;
  Tensor attachment;  // bytes of the caller (octet/attachment.h), or none
};

}  // namespace octet
