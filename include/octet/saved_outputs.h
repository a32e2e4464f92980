// SPDX-License-Identifier: Apache-2.0
// The outputs of many samples in one .npz: arrays named as the outputs, the samples one after another along the first axis; where their
// shapes differ, or have no axis, an array for each sample: "NAME[0]", "NAME[1]" and so on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet {

// Gathers the outputs of samples, for write_npz().
class OutputArrays {
 public:
  // Which outputs may stand in one array: those of one shape, or also those with other numbers of rows, whose borders are lost then.
  enum class Join { same_shape, any_rows };

  explicit OutputArrays(std::vector<std::string> names, Join join = Join::same_shape)
      : names_(std::move(names)), join_(join), samples_(names_.size()) {}

  void add(std::span<const Tensor> outputs);
  std::vector<std::pair<std::string, Tensor>> arrays() const;

 private:
  bool may_follow(const Tensor& first, const Tensor& next) const;

  std::vector<std::string> names_;
  Join join_;
  std::vector<std::vector<Tensor>> samples_;  // of each output
};

// Such a file, of whatever wrote it.
class SavedOutputs {
 public:
  // Throws Error as read_npz() does, and one Error(invalid_argument) that lists everything in which the file is not `samples` samples
  // of `outputs`: arrays that are missing or unknown, types that are not comparable() (octet/output_comparison.h), other shapes, rows that the
  // samples do not share evenly.
  static SavedOutputs read(const std::filesystem::path& file, std::span<const TensorInfo> outputs,
                           int64_t samples);

  // The outputs of sample i, in their order.
  std::vector<Tensor> sample(int64_t i) const;

 private:
  std::vector<std::vector<Tensor>> outputs_;  // of each output: one tensor, or one for each sample
  int64_t samples_ = 0;
};

}  // namespace octet
