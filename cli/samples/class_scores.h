// SPDX-License-Identifier: Apache-2.0
// Which outputs are the scores of classes, the best of them, and the names of classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet::cli {

// Scores of one sample, one for each class: real numbers [1,K], [1,K,1,1] or [1,1,1,K], K above 1.
bool is_class_scores(const TensorType& type);

// The scores of each of `rows` samples: the tensor itself where it is class scores, its rows where it has one for each sample;
// else none.
std::vector<Tensor> score_rows(const Tensor& tensor, int64_t rows);

struct Ranked {
  int64_t index = 0;
  float value = 0;
};
// The `count` largest, the first of equals first.
std::vector<Ranked> top_of(const Tensor& scores, int64_t count);

// The names of classes, from a text file with one a line.
class ClassNames {
 public:
  ClassNames() = default;  // none
  // Class i has the name of line i - offset: with 1 class 0 is a background that the file leaves out.
  ClassNames(const std::filesystem::path& file, int64_t offset);

  bool given() const { return !names_.empty(); }
  // Throws Error(invalid_argument) unless one of the outputs has a score for each name.
  void check(std::span<const TensorInfo> outputs, std::span<const Tensor> values,
             int64_t rows) const;
  // Empty for a class without a name, and for scores of another number of classes.
  std::string name(int64_t index, int64_t classes) const;

 private:
  std::string file_;
  std::vector<std::string> names_;
  int64_t offset_ = 0;
};

}  // namespace octet::cli
