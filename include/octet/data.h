// SPDX-License-Identifier: Apache-2.0
// Samples for calibration, evaluation and comparison: folders of images, arrays of NumPy, or whatever the caller brings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/preprocess.h"
#include "octet/tensor.h"

namespace octet {

// A source of the caller's own: fills one tensor for each input, in the order of Engine::inputs(), and returns false at the end of
// the data. It is called by one thread at a time, not always the same; what it throws passes through.
using SampleSource = std::function<bool(std::vector<Tensor>& inputs)>;

// Where a sample's class comes from: the alphabetical index of its folder under the data folder, or the leading number of its
// file name. Arrays of an npz carry their own.
enum class LabelRule { folder, prefix };

struct DataOptions {
  // A folder of images, or of .npy/.npz files, or one image or array file. The first axis of an array is the sample. Arrays of an
  // .npz that are not named as the inputs are chosen by "file.npz:images[:labels]", a part of them by "images[0:200]".
  std::filesystem::path data;
  std::optional<Preprocess> preprocess;  // absent: resize to the model's input size
  LabelRule labels = LabelRule::folder;
  int64_t max_samples = 0;  // 0: all; else so many, evenly spread over the sorted data
  bool skip_bad = false;    // count and skip unreadable files instead of failing
};

struct SkippedItem {
  std::string name;
  std::string reason;
};

// The samples of a folder or file, one by one. Memory does not grow with the number of files; one archive of arrays is held whole.
// Const members are safe from several threads.
class DataSource {
 public:
  // Lists the data and checks every header against the model's inputs (Engine::inputs()). Throws one Error naming the first bad file
  // and how many there are; with options.skip_bad they are left out and listed by skipped().
  static DataSource open(const DataOptions& options, std::span<const TensorInfo> inputs);
  ~DataSource();
  DataSource(DataSource&&) noexcept;
  DataSource& operator=(DataSource&&) noexcept;

  // Loads every sample once, so that a damaged image, a wrong size or a NaN is found before anything is computed. Throws or
  // skips as open() does. `progress` gets (done, total), may be empty, and ends the call by throwing.
  void validate(const std::function<void(int64_t, int64_t)>& progress = {});

  int64_t size() const;
  // One tensor for each input, of its dtype, with a leading batch dimension of 1.
  std::vector<Tensor> sample(int64_t i) const;
  std::optional<int64_t> label(int64_t i) const;
  std::string name(int64_t i) const;  // "cats/a.jpg", "digits.npz[17]"

  // What is applied, and what an engine should remember: for images always, for arrays what the options gave.
  const std::optional<Preprocess>& preprocess() const;
  const std::vector<SkippedItem>& skipped() const;
  // Worth telling the user, no error: fewer samples than asked for, only one class, files of other kinds.
  const std::vector<std::string>& notes() const;

 private:
  struct Impl;
  explicit DataSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet
