// SPDX-License-Identifier: Apache-2.0
// ONNX model -> Engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/calibrate.h"
#include "octet/constraints.h"
#include "octet/engine.h"
#include "octet/half_weights.h"
#include "octet/progress.h"

namespace octet {

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

inline constexpr double kAllForAccuracy = 0.2;  // PrecisionPlan::accuracy_time that takes what pays

// What computes in which type. A model can be built by many plans from one import and one calibration.
struct PrecisionPlan {
  bool int8 = false;  // calibrate and quantize; explicit Q/DQ in the model is honoured either way
  bool simulate = false;  // keep the model's Q/DQ nodes and compute in f32 between them: the truth
                          // that an explicitly quantized engine is held against
  // The type of the layers that are not INT8; both: f16 where it holds the weights, bf16 elsewhere. Neither: f32.
  bool f16 = false;
  bool bf16 = false;
  // Of what is not INT8, the types that `target` computes fastest on; f16 and bf16 go before it.
  bool fastest = false;
  // Where an engine of the fastest types will run: "cpu:amx", "cuda:sm90", "cuda:h200" or another of build_targets(). "cpu" or empty: this
  // machine's processor. Given the target, the types are the same wherever it is built.
  std::string target = {};
  // Layers whose weights f16 does not hold are rescaled by powers of two with a neighbor, or get bf16, or f32.
  bool fix_subnormals = false;
  std::vector<std::string> keep_float;  // node names (or op types) to leave in f32
  // By what part layers that stay in f32 for accuracy may slow an engine, as their work tells: 0 to 1, where calibration tried them (CalibrationOptions::try_layers).
  // Those that alone lose too much stay in any case. Absent: which stay is estimated.
  std::optional<double> accuracy_time = std::nullopt;
  // In a model that carries Q/DQ nodes these decide; constraints are then held against what came of them.
  std::vector<PrecisionConstraint> constraints = {};
  ConstraintMode constraint_mode = ConstraintMode::prefer;
  RewriteOptions rewrites;
};

struct CompileOptions {
  PrecisionPlan plan;
  std::optional<CalibrationOptions> calibration;  // needed for int8 unless the model carries Q/DQ
  // How images become inputs, for builds that see no data: the engine remembers it. Calibration remembers its own.
  std::optional<Preprocess> preprocess;
  std::map<std::string, Shape> input_shapes;  // fixes dynamic dimensions of inputs, by input name
  int threads = 1;                            // used by calibration
  Monitor monitor = {};
  // Of a model that is given as bytes: where its weights files are; empty: it may have none.
  std::filesystem::path weights_folder = {};
  // Weights files may be links, as long as they end below this folder; empty: links are refused.
  std::filesystem::path weights_root = {};
};

// What INT8 did to an output, against the model in f32, on a few of the calibration samples.
struct OutputLoss {
  std::string output;
  double sqnr_db =
      0;  // 10 log10(squares of the model's values / squares of the differences); infinite: equal, or nothing left
};

struct CompileReport {
  std::vector<PassTrace> passes;
  std::vector<Range> ranges;  // of the tensors that codes may need, in the order of the graph
  std::vector<MissingRange> missing_ranges;
  std::vector<HalfWeights> half_weights;  // of f16 layers, those that f16 does not hold
  // CalibrationOptions::make_cache: what calibration found, to be kept in a file; null where ranges did not come from data.
  std::shared_ptr<const CalibrationCache> cache;
  std::vector<std::string> warnings;
  int64_t calibration_samples = 0;
  int64_t calibration_skipped = 0;
  std::vector<std::string> skipped_files;  // "name: reason"
  std::vector<InputSummary> inputs;        // what calibration saw
  std::optional<DataHandling> handling;    // what was done to its data; nothing where it read none
  // Of f32 outputs, where INT8 was calibrated on samples that this build saw.
  std::vector<OutputLoss> output_losses;
};

// What PrecisionPlan::target may name.
std::vector<std::string> build_targets();

// Throws one Error for whatever is wrong with model, options or data. Nothing is written to any file.
Engine compile(const std::filesystem::path& onnx_file, const CompileOptions& options = {},
               CompileReport* report = nullptr);
// The same from the bytes of such a file, which are read during the call.
Engine compile(std::span<const std::byte> onnx_model, const CompileOptions& options = {},
               CompileReport* report = nullptr);

}  // namespace octet
