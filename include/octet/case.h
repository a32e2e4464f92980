// SPDX-License-Identifier: Apache-2.0
// A case: what one machine saw of an engine, in one zip file, so that another can see whether it sees the same. docs/cli.md has the
// format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "octet/calibration_cache.h"
#include "octet/inspect.h"
#include "octet/machine.h"
#include "octet/provenance.h"

namespace octet {

struct CaseDecision {
  std::string node;       // of the ONNX model
  std::string layer;      // it went into; empty: none
  std::string precision;  // in the words of to_string(), which may be those of another version
  std::string reason_code;
  bool operator==(const CaseDecision&) const = default;
};

// One run of the engine: a sample, or as many as a run takes.
struct CaseRun {
  std::string name;
  std::vector<Tensor> inputs;  // in the order of Engine::inputs()
  std::vector<Tensor> outputs;
};

struct Case {
  std::string version;                // of the program that made the case
  std::string compiler;               // of that program
  DeviceInfo device;                  // that ran it
  std::vector<std::string> commands;  // for people
  std::string engine_hash;
  std::optional<Provenance> provenance;
  std::vector<CaseDecision> decisions;
  std::vector<std::pair<std::string, std::string>>
      kernels;                               // layer, kernel; in the order of the plan
  std::vector<std::string> inputs, outputs;  // their names
  std::vector<CaseRun> runs;
  // What may be left out. Files are tensors u8[bytes].
  Tensor engine;
  Tensor model;
  std::optional<CalibrationCache> cache;
};

// The engine on this machine, with its file; without runs, model and cache.
Case make_case(const Engine& engine, const std::vector<Shape>& input_shapes = {}, int threads = 1);
// Puts the model in. Throws Error(invalid_argument) where the engine was built from another, Error(unsupported) where its weights lie in
// files of their own.
void add_model(Case& into, const std::filesystem::path& onnx_file);
// Throws Error(invalid_argument) where scales of the engine came from another cache, or, as far as the cache says, from another model or
// other data.
void add_cache(Case& into, CalibrationCache cache);

// Why the engine cannot be built again of the case; empty: it can. `model_given`: the model need not be in it.
std::string missing_for_build(const Case& from, bool model_given = false);

// Atomic; the same case gives the same bytes. Throws Error(unsupported) past 4 GiB.
void save_case(const Case& from, const std::filesystem::path& path);
// Throws one Error(invalid_argument) for anything that is wrong: what is no zip archive, files that are missing, too many or not those
// that the case was made with, fields of other types; Error(out_of_memory) for what passes the limit.
Case load_case(const std::filesystem::path& path);

}  // namespace octet
