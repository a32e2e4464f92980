// SPDX-License-Identifier: Apache-2.0
// Samples for calibration, evaluation and comparison: images through preprocessing, or arrays, one by one. Memory does not
// grow with the number of files; one archive of arrays is held whole.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/data_items.h"
#include "core/types.h"
#include "octet/calibrate.h"
#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet {

// Const members are safe from several threads.
class DataSource {
 public:
  // Lists the data and checks every header against the model's inputs. Throws one Error naming the first bad file and how many
  // there are; with options.skip_bad they are left out and listed by skipped().
  static DataSource open(const CalibrationOptions& options, std::span<const TensorInfo> inputs);

  // Loads every sample once, so that a damaged image, a wrong size or a NaN is found before anything is computed. Throws or
  // skips as open() does. `progress` gets (done, total) and may be empty.
  void validate(const std::function<void(s64, s64)>& progress = {});

  s64 size() const { return static_cast<s64>(data_.items.size()); }
  // One tensor for each input, of its dtype, with a leading batch dimension of 1.
  std::vector<Tensor> sample(s64 i) const;
  std::optional<s64> label(s64 i) const;
  std::string name(s64 i) const;  // "cats/a.jpg", "digits.npz[17]"

  // What is applied, and what an engine should remember: for images always, for arrays what the options gave.
  const std::optional<Preprocess>& preprocess() const { return data_.preprocess; }
  const std::vector<SkippedItem>& skipped() const { return data_.bad; }
  // Worth telling the user, no error: fewer samples than asked for, only one class, files of other kinds.
  const std::vector<std::string>& notes() const { return data_.notes; }

 private:
  DataSource(DataItems data, const CalibrationOptions& options);
  // Throws if `bad` must not be skipped or nothing is left.
  void settle_bad(size_t total);

  DataItems data_;
  std::string source_;
  bool skip_bad_ = false;
};

}  // namespace octet
