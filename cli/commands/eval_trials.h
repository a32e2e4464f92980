// SPDX-License-Identifier: Apache-2.0
// Where answers are known: whether other preparations of the same data give better ones.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/flags/data_flags.h"
#include "cli/samples/eval_counts.h"
#include "octet/engine.h"

namespace octet::cli {

struct Trial {
  std::string how;  // "--scale 255", or in words where no flags do it
  InputDoubt doubt;
  int64_t samples = 0;
  double top1 = 0;     // from 0 to 1
  double present = 0;  // of the same samples as they are

  // "with --scale 255 top-1 would be 71.0 %"
  std::string text() const;
};

struct TrialOptions {
  DataOptions data;
  std::string scores;
  int64_t label_offset = 0;
  int threads = 1;
};

// The best of `others` on some of the samples; nothing where none is clearly better.
std::optional<Trial> try_preparations(const Engine& engine, const TrialOptions& options,
                                      const std::vector<InputDoubt>& others);
nlohmann::ordered_json trial_json(const std::optional<Trial>& trial);

}  // namespace octet::cli
