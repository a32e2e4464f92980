// SPDX-License-Identifier: Apache-2.0
// ONNX file -> Engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "octet/calibrate.h"
#include "octet/engine.h"

namespace octet {

struct Progress {
  std::string stage;  // "import", "calibrate", ...
  int64_t done = 0;
  int64_t total = 0;  // 0: not known
};

struct PassTrace {
  std::string pass;
  int64_t rewrites = 0;
  double milliseconds = 0;
};

// For bisecting: which rewrites of the graph are made.
struct RewriteOptions {
  std::vector<std::string> disabled_passes;
  int64_t stop_after_rewrites = -1;  // counted from the first pass; -1: never
};

// What computes in which type. A model can be built by many plans from one import and one calibration.
struct PrecisionPlan {
  bool int8 = false;  // calibrate and quantize; explicit Q/DQ in the model is honoured either way
  bool simulate = false;  // keep the model's Q/DQ nodes and compute in f32 between them: the truth
                          // that an explicitly quantized engine is held against
  std::vector<std::string> keep_float;  // node names (or op types) to leave in f32
  RewriteOptions rewrites;
};

struct CompileOptions {
  PrecisionPlan plan;
  std::optional<CalibrationOptions> calibration;  // needed for int8 unless the model carries Q/DQ
  std::map<std::string, Shape> input_shapes;  // fixes dynamic dimensions of inputs, by input name
  int threads = 1;                            // used by calibration
  std::function<void(const Progress&)> progress;  // called from the compiling thread; may be empty
};

struct CompileReport {
  std::vector<PassTrace> passes;
  std::vector<Range> ranges;  // of the tensors that codes may need, in the order of the graph
  std::vector<std::string> warnings;
  int64_t calibration_samples = 0;
  int64_t calibration_skipped = 0;
  std::vector<std::string> skipped_files;  // "name: reason"
};

Engine compile(const std::filesystem::path& onnx_file, const CompileOptions& options = {},
               CompileReport* report = nullptr);

}  // namespace octet
