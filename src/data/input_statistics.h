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
  // Of as many inputs.
  void merge(const InputStatistics& other);
  std::vector<InputSummary> summaries() const;
  // What was seen, without what inputs are called, for core/archive.h.
  template <class Archive>
  void archive(Archive& archive) {
    archive(samples_);
    for (Input& input : inputs_) archive(input);
  }

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

    template <class Archive>
    void archive(Archive& archive) {
      archive_shape(archive, smallest);
      archive_shape(archive, largest);
      archive(elements, min, max, channels, constant);
    }
    template <class Archive>
    static void archive_shape(Archive& archive, Shape& shape) {
      std::vector<s64> sizes(shape.begin(), shape.end());
      archive(sizes);
      shape = Shape(std::span<const s64>(sizes));
    }
  };
  static void add(Input& input, const Tensor& tensor);

  std::vector<Input> inputs_;
  s64 samples_ = 0;
};

}  // namespace octet
