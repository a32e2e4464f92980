// SPDX-License-Identifier: Apache-2.0
// Samples for calibration, evaluation and comparison: folders of images, arrays of NumPy, or whatever the caller brings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/input_profile.h"
#include "octet/preprocess.h"
#include "octet/tensor.h"

namespace octet {

// A source of the caller's own: fills one tensor for each input, in the order of Engine::inputs(), and returns false at the end of
// the data. It is called by one thread at a time, not always the same; what it throws passes through.
using SampleSource = std::function<bool(std::vector<Tensor>& inputs)>;

// Where a sample's class comes from: the alphabetical index of its folder under the data folder, or the leading number of its
// file name. Arrays of an npz carry their own.
enum class LabelRule { folder, prefix };

// What a run gives as `output` the next run of the same sequence takes as `input`; a sequence begins with zeros.
struct StateLink {
  std::string output;
  std::string input;
};

struct DataOptions {
  // A folder of images, or of .npy/.npz files, or one image or array file. The first axis of an array is the sample. Arrays of an
  // .npz that are not named as the inputs are chosen by "file.npz:images[:labels]", a part of them by "images[0:200]".
  std::filesystem::path data;
  std::optional<Preprocess> preprocess;  // absent: resize to the model's input size
  LabelRule labels = LabelRule::folder;
  int64_t max_samples = 0;       // 0: all; else so many, evenly spread over the sorted data
  bool skip_bad = false;         // count and skip unreadable files instead of failing
  bool prepared_arrays = false;  // arrays are inputs as they stand: `preprocess` is for images
  // The axis of an input along which its samples lie, by name; of others it is found (sample_axis).
  std::map<std::string, int> sample_axes = {};
  // The samples of each file are the steps of a sequence, in their order. Inputs that are states have no array.
  std::vector<StateLink> states = {};
  bool raw_pixels = false;  // values of 0 to 255 are meant: no note that they look unnormalised
  // Who says so of `preprocess`, for people: "the engine", "the flags".
  std::string preprocess_from = {};
  // KnownInputs::codes of the engine that the data are for: validate() counts what they clip.
  std::vector<std::optional<CodeSpan>> input_codes = {};
};

// What is done to data before a network sees them.
struct DataHandling {
  bool photos = false;
  std::optional<Preprocess> applied = std::nullopt;  // nothing: arrays as they are
  std::string from = {};                             // "the engine"; empty for arrays as they are
  bool guessed() const { return from.starts_with("a guess"); }  // nobody said how
  // "photos: letterbox 640x640 (center, fill 114), rgb, /255, from the engine", "arrays: taken as they are".
  std::string line() const;
};

// What one input looked like over all samples, as the network sees it: after preprocessing.
struct InputSummary {
  std::string input;
  int64_t samples = 0;
  Shape smallest, largest;  // of each dimension over all samples; equal where all have one size
  double min = 0;
  double max = 0;
  std::vector<double> mean;       // of each channel of an image, else of all elements
  std::vector<double> deviation;  // standard, likewise
  int64_t constant = 0;           // samples of several elements that are all the same
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
  // The same with as many samples being loaded at a time as there are threads: images are decoded side by side. What it finds is the same, and
  // `progress` is called by the calling thread.
  void validate(const std::function<void(int64_t, int64_t)>& progress, int threads);

  int64_t size() const;
  // One tensor for each input, of its dtype, with a leading batch dimension of 1.
  std::vector<Tensor> sample(int64_t i) const;
  std::optional<int64_t> label(int64_t i) const;
  std::string name(int64_t i) const;  // "cats/a.jpg", "digits.npz[17]"
  // Whether a sequence begins with this sample (DataOptions::states); without states each is its own.
  bool begins_sequence(int64_t i) const;

  // What is applied, and what an engine should remember: for images always, for arrays what the options gave.
  const std::optional<Preprocess>& preprocess() const;
  const DataHandling& handling() const;
  const std::vector<SkippedItem>& skipped() const;
  // Worth telling the user, no error: fewer samples than asked for, only one class, files of other kinds; after validate() also
  // what is doubtful in the values: all zero, constant, as pixels are stored, too few samples.
  const std::vector<std::string>& notes() const;
  // One for each input; none before validate().
  const std::vector<InputSummary>& summaries() const;
  const std::vector<InputProfile>& profiles() const;
  const std::vector<InputWatch::Clipped>& clipped() const;

 private:
  struct Impl;
  explicit DataSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The axis of input i along which samples lie: what is given, else the first. But a state of [2,N,128] beside an input [N,512] has
// them along its only open dimension.
int sample_axis(std::span<const TensorInfo> inputs, size_t i,
                const std::map<std::string, int>& given = {});

// Carries states from one run to the next.
class StateLoop {
 public:
  // Throws Error(invalid_argument) for links whose names are none, or whose types differ.
  StateLoop(std::span<const StateLink> links, std::span<const TensorInfo> inputs,
            std::span<const TensorInfo> outputs);
  // A new sequence: states are as the data give them, 0.
  void begin() { kept_.clear(); }
  // Puts the states that were kept into the inputs of the next run.
  void fill(std::vector<Tensor>& inputs) const;
  // Keeps those that a run gave.
  void keep(std::span<const Tensor> outputs);
  // Of the outputs, those that are states.
  std::vector<size_t> outputs() const;

 private:
  struct Link {
    size_t output = 0;
    size_t input = 0;
  };
  std::vector<Link> links_;
  std::vector<Tensor> kept_;  // one for each link; empty before the first run
};

// Where a model's inputs have a fixed first dimension, one run takes so many samples: as many as the first inputs of `sample` fit
// into it, where all inputs agree; else 1.
int64_t samples_of_run(std::span<const TensorInfo> inputs, std::span<const Tensor> sample);
// The inputs of one run of `rows` samples; where fewer are given, the last is repeated.
std::vector<Tensor> stack_samples(std::span<const std::vector<Tensor>> samples, int64_t rows);
// What each of the first `samples` of `rows` samples has of the outputs of such a run. Throws Error(unsupported) for an output whose
// first dimension is no multiple of `rows`.
std::vector<std::vector<Tensor>> split_outputs(std::span<const Tensor> outputs, int64_t rows,
                                               int64_t samples);

// The arrays of an .npy or .npz file as the inputs of one run, found by name and converted as for samples, where their shapes are
// the inputs' own, first dimension included. Nothing where the file holds samples for several runs.
std::optional<std::vector<Tensor>> read_inputs(const std::filesystem::path& file,
                                               std::span<const TensorInfo> inputs);

}  // namespace octet
