// SPDX-License-Identifier: Apache-2.0
// What octet eval counts over samples: right answers, agreement, errors of outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/samples/output_errors.h"
#include "cli/samples/samples.h"
#include "octet/engine.h"

namespace octet::cli {

class Counts {
 public:
  // `scores`: the output that holds the scores of classes; empty: found. `offset` is added to labels.
  Counts(std::vector<TensorInfo> outputs, std::string scores, int64_t offset);

  // What the engine, and where there is one the reference, gave for a sample.
  void add(const LoadedSample& sample, std::span<const Tensor> tested,
           const std::vector<Tensor>* reference);

  int64_t samples() const { return samples_; }
  int64_t labelled() const { return labelled_; }  // 0 where no output holds scores
  int64_t right() const { return tested_.right; }
  int64_t reference_right() const { return reference_.right; }
  int64_t agree() const { return agree_; }
  // Shares from 0 to 1; NaN where nothing was counted.
  double top1() const { return share(tested_.right, labelled_); }
  double reference_top1() const;
  double agreement() const { return has_scores() ? share(agree_, compared_) : share(0, 0); }
  const OutputErrors& errors() const { return errors_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }

  bool has_scores() const { return scores_.has_value(); }
  // Why there are none: "'boxes' f32[1,3549,85] is not".
  std::string without_scores() const;
  // That answers are hardly better than guesses, and what to look at; nothing where they are.
  std::optional<std::string> doubt() const;

 private:
  struct Right {
    int64_t right = 0, below = 0, above = 0;  // by the labels, by those less and more by one
    void count(int64_t answer, int64_t label);
  };
  static double share(int64_t part, int64_t whole);
  void find_scores(std::span<const Tensor> outputs);

  std::vector<TensorInfo> outputs_;
  std::string wanted_;
  int64_t offset_ = 0;
  std::optional<size_t> scores_;
  int64_t classes_ = 0;
  std::vector<TensorType> types_;  // of the first sample's outputs
  int64_t samples_ = 0, labelled_ = 0, compared_ = 0, agree_ = 0;
  Right tested_, reference_;
  OutputErrors errors_;
};

}  // namespace octet::cli
