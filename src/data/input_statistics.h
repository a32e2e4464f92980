// SPDX-License-Identifier: Apache-2.0
// What samples look like as a network sees them, and what should make their owner doubt them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "octet/data.h"

namespace octet {

class InputStatistics {
 public:
  explicit InputStatistics(std::span<const TensorInfo> inputs);

  // One tensor for each input.
  void add(std::span<const Tensor> sample);
  std::vector<InputSummary> summaries() const;

  // One sentence for each thing that good data would not be. `raw_pixels`: DataOptions::raw_pixels.
  std::vector<std::string> doubts(bool raw_pixels) const;

 private:
  struct Sums {
    f64 sum = 0;
    f64 squares = 0;
  };
  struct Input {
    TensorInfo info;
    int channel_axis = -1;  // -1: no image
    Shape smallest, largest;
    s64 elements = 0;  // of all samples
    f64 min = 0;
    f64 max = 0;
    std::vector<Sums> channels;
    s64 constant = 0;
  };
  static void add(Input& input, const Tensor& tensor);

  std::vector<Input> inputs_;
  s64 samples_ = 0;
};

}  // namespace octet
