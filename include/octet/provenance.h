// SPDX-License-Identifier: Apache-2.0
// What an engine says of its making: enough to make it again of the same model and data. It holds no date, no path and nothing of
// the machine, so that the same inputs give the same engine bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/calibrate.h"
#include "octet/compile.h"
#include "octet/engine.h"

namespace octet {

// This program: "0.3.0", and what compiled it, "GNU 12.2.0". Engines hold both, whose bytes are the same on every processor.
std::string_view octet_version();
std::string_view octet_compiler();

// Hashes are of XXH3 with 128 bits in hexadecimal, against accidents; empty: not known, or there is nothing to hash.
struct Provenance {
  std::string version;     // of the Octet that built the engine
  std::string compiler;    // of that Octet
  std::string model;       // file name of the ONNX model; older engines alone have it
  std::string producer;    // who wrote the model
  std::string model_hash;  // of the model with its weights
  // What was asked for.
  PrecisionPlan plan;
  std::map<std::string, Shape> input_shapes;
  std::optional<Preprocess> preprocess;
  // Where ranges came from; nothing where there was no calibration.
  std::string methods;  // all that chose a range: "entropy, given"
  int64_t samples = 0;
  std::string device;     // the chip that ran them; empty: the CPU
  std::string data_hash;  // of all samples as the model gets them, in any order
  std::string
      cache_hash;  // of the calibration cache that scales were taken from, without the rest of what was seen
  std::string ranges_hash;        // of all ranges, and of what channels were multiplied by
  bool equalize = true;           // channels, where ranges came from data
  std::vector<GivenRange> given;  // by hand, tensor by tensor
};

// Nothing for engines of an Octet that did not say. Throws Error(invalid_model) for one that says what this program does not know.
std::optional<Provenance> provenance(const Engine& engine);

// The method that chose the ranges that are not given; nothing where several did, or scales came from a cache.
std::optional<RangeMethod> range_method(const Provenance& provenance);
// Of the bytes that the engine is saved as.
std::string engine_hash(const Engine& engine);

// One JSON object, without what is empty. Numbers and texts read back equal.
std::string to_json(const Provenance& provenance);
// Throws one Error(invalid_argument) naming `name`.
Provenance provenance_from_json(std::string_view text, const std::string& name);

}  // namespace octet
