// SPDX-License-Identifier: Apache-2.0
// What each layer of an engine costs on this machine.
#pragma once

#include <span>
#include <vector>

#include "octet/engine.h"
#include "octet/inspect.h"
#include "octet/tensor.h"

namespace octet {

struct LayerTime {
  LayerInfo layer;
  double microseconds = 0;  // median over the runs
  double share = 0;         // of the sum over all layers, 0 to 1
  double floor_us =
      0;  // the least that this machine could take: multiplications at full rate, or bytes
  std::vector<double> run_microseconds = {};  // of each run, in their order
};

struct ProfileOptions {
  int threads = 1;
  int64_t runs = 50;
  double seconds = 0;  // more runs, until they took so long together
  std::shared_ptr<const Tuning> tuning = nullptr;
  std::string device = "cpu";
  bool chains = true;  // as in ContextOptions
};

// Runs the engine and times every layer by itself, in the order of execution. Reading the clock between layers adds about
// 50 ns to each.
std::vector<LayerTime> profile(const Engine& engine, std::span<const Tensor> inputs,
                               const ProfileOptions& options = {});

enum class MeasureRuns { quick, any };  // any: also where a run takes long, or no layer is INT8

// Times a few runs on random data, and puts into the inspection what each layer takes, and which part of the time is INT8. Leaves it as it is
// where the runs are not of the kind asked for, and where the engine does not run on such data.
void measure_coverage(const Engine& engine, const InspectOptions& options, Inspection& inspection,
                      MeasureRuns runs = MeasureRuns::quick);

}  // namespace octet
