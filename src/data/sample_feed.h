// SPDX-License-Identifier: Apache-2.0
// The inputs of runs, handed out one by one to any number of threads, each once: from files, or from a source of the caller's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "data/input_statistics.h"
#include "octet/data.h"

namespace octet {

struct FedSample {
  std::string name;            // "cats/a.jpg", "sample 17"
  std::vector<Tensor> inputs;  // of the inputs' dtypes: one sample, or as many as a run takes
  s64 samples = 1;
  s64 rows = 1;        // of the run: beyond `samples` the last is repeated
  bool begins = true;  // a sequence (DataOptions::states)
};

// Safe from several threads.
class SampleFeed {
 public:
  virtual ~SampleFeed() = default;
  // Nothing at the end.
  virtual std::optional<FedSample> next() = 0;
  virtual s64 total() const = 0;  // 0: not known
};

// Every sample of `data`, which lives longer. Where the inputs have a fixed first dimension, so many at a time (samples_of_run).
std::unique_ptr<SampleFeed> feed_of(const DataSource& data, std::span<const TensorInfo> inputs);
// What the source gives, checked against the inputs: several samples at once are cut into single ones, numbers are converted
// (data/convert.h). Throws Error(invalid_argument) naming the sample. `seen` and `watch`, which live longer, get every sample.
std::unique_ptr<SampleFeed> feed_of(SampleSource source, std::span<const TensorInfo> inputs,
                                    InputStatistics* seen = nullptr, InputWatch* watch = nullptr);

}  // namespace octet
