// SPDX-License-Identifier: Apache-2.0
// What the quantization of each layer does to the outputs of the model, and what time it saves on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/precision.h"
#include "octet/progress.h"
#include "octet/source_model.h"
#include "octet/tensor.h"

namespace octet {

// A layer that multiplies, or several that read one tensor and keep time only together: that tensor is codes for all of them or for none.
struct LayerEffect {
  std::vector<std::string> layers;  // names, as PrecisionPlan::keep_float takes them
  std::string op;
  std::string tensor;                     // of several: what they read
  Precision precision = Precision::none;  // what the build makes of the (first) layer by itself
  int64_t macs = 0;                       // of a run
  double alone = 0;                       // loss where nothing else is INT8
  double without = 0;                     // loss where everything else is that the build makes INT8
  double saved_us = 0;                    // time in FP32 less time in INT8; 0: not measured
};

struct Sensitivity {
  std::vector<LayerEffect> layers;  // the greatest `alone` first
  double int8 = 0;                  // loss of the INT8 model that the build makes
  int64_t samples = 0;              // that each layer was tried on
  double passes = 0;  // work done, in runs of the whole model over all samples that were given
  double fp32_us = 0, int8_us = 0;  // a run; 0: not measured
};

// Outputs of one model for each sample.
using OutputsOfSamples = std::span<const std::vector<Tensor>>;

struct SensitivityOptions {
  PrecisionPlan plan;                        // layers that it keeps in float stay there
  std::vector<std::vector<Tensor>> samples;  // inputs, in the order of Engine::inputs()
  // What `got` loses beside `truth`, the float model's: 0 for nothing. Both are of the first samples. Absent: the power of the differences of
  // all outputs over the power of the outputs, whose logarithm is SQNR.
  std::function<double(OutputsOfSamples truth, OutputsOfSamples got)> loss = nullptr;
  std::string metric = "sqnr";  // names the loss, for `recall` and `record`
  // Each layer is tried on the first samples, on so many that all trials take no more than so many runs over all of them.
  double max_passes = 40;
  bool times = true;  // measure them
  // Of the layers every parts-th, from `part` on: of the others nothing is tried, and `record` is not told. So several machines share the work.
  int part = 0;
  int parts = 1;
  int threads = 1;
  std::string device = "cpu";  // what runs the trials, and what times are measured of
  Monitor monitor = {};        // told of each trial as stage "layers"
  // Losses of an earlier call, by keys that tell model, data, ranges, metric, samples and trial; and those of this one as they come.
  std::function<std::optional<double>(const std::string& key)> recall = nullptr;
  std::function<void(const std::string& key, double loss)> record = nullptr;
};

// Throws Error(invalid_argument) without samples, for a model that brings its own Q/DQ nodes, and where no layer can be INT8; otherwise as
// SourceModel::build(). The same for any number of threads.
Sensitivity sensitivity(const SourceModel& source, const SensitivityOptions& options);

std::string to_json(const Sensitivity& sensitivity);

}  // namespace octet
