// SPDX-License-Identifier: Apache-2.0
// octet bench without further wishes: one caller runs the engine again and again. How long each run took, and what that comes to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/bench_inputs.h"
#include "cli/output/outputs.h"
#include "cli/samples/engine_source.h"
#include "octet/engine.h"

namespace octet::cli {

struct RunFlags {
  EngineSource engine;
  std::filesystem::path tuning;
  BenchInputFlags inputs;
  std::string device;
  double seconds = 2;
  int64_t iterations = 0;  // 0: as many as the seconds take
  int64_t warmup = 10;
  bool json = false;
  bool chains = true;
  bool transfers = true;  // else inputs and outputs stay in the device's memory
  const Output& runs;     // JSON of every run, if it is given
  const Output& trace;    // the same for the viewers of Chrome and Perfetto
};

// Of sorted values, by the nearest rank.
double quantile_of(const std::vector<double>& sorted, double q);

// Measures and prints; the exit code.
int bench_runs(const RunFlags& flags);

}  // namespace octet::cli
