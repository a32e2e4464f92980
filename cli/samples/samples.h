// SPDX-License-Identifier: Apache-2.0
// The samples of a folder or file, one after another, as inputs of an engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/progress.h"
#include "cli/samples/data_checks.h"
#include "octet/data.h"
#include "octet/engine.h"

namespace octet::cli {

struct LoadedSample {
  std::string name;
  std::optional<int64_t> label;
  bool begins = true;          // a sequence
  std::vector<Tensor> inputs;  // in the order of Engine::inputs(), batch 1
};

class Samples {
 public:
  // All are read once, which `progress` is told of as the stage "check data", and how they are prepared is said.
  Samples(const Engine& engine, const DataOptions& options, ProgressBar* progress = nullptr);

  int64_t size() const;
  std::string name(int64_t i) const { return source_.name(i); }
  // The next readable sample, or nothing at the end.
  std::optional<LoadedSample> next();
  // "name: reason" of those that --skip-bad left out.
  const std::vector<std::string>& skipped() const { return skipped_; }
  const std::vector<StateLink>& states() const { return states_; }
  // What is odd about the data: DataSource::notes(), and what the engine's calibration says against them.
  std::vector<std::string> notes() const;
  const DataChecks& checks() const { return checks_; }
  // What may be tried where answers are known.
  std::vector<InputDoubt> other_preparations(bool mostly_wrong) const;

 private:
  KnownInputs known_;
  DataSource source_;
  InputHistory history_;
  DataChecks checks_;
  std::vector<StateLink> states_;
  int64_t at_ = 0;
  std::vector<std::string> skipped_;
};

}  // namespace octet::cli
