// SPDX-License-Identifier: Apache-2.0
// The flags that say where samples come from and how images become tensors; shared by build, run, eval and compare.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "octet/data.h"

namespace octet::cli {

struct PreprocessFlags {
  std::string file;  // or the name of a preset
  std::string resize;
  std::string crop;
  std::string letterbox;
  std::string orientation;
  std::string color;
  std::string layout;
  std::optional<double> scale;
  std::vector<double> mean;
  std::vector<double> std;
};

void add_preprocess_flags(CLI::App& app, PreprocessFlags& flags);

struct Resolved {
  std::optional<Preprocess>
      preprocess;           // nothing where no flag, no file and nothing remembered says any
  bool scale_said = false;  // by a flag, the file or the engine: pixels of 0 to 255 are then meant
  std::string from;         // who says so: "the flags over the engine"
};

// The preprocessing that the flags describe on top of --preprocess NAME|FILE, or of `remembered` when no file is named. Where mean and std
// are of pixels of 0 to 1 and no scale is said, 255 is chosen, with a warning.
Resolved resolve(const PreprocessFlags& flags, const std::optional<Preprocess>& remembered);

// Whether any flag is given.
bool any_given(const PreprocessFlags& flags);

// Where samples lie, and what goes from one to the next.
struct SequenceFlags {
  std::vector<std::string> axes;    // "state:1"
  std::vector<std::string> states;  // "stateN:state"
};
void add_sequence_flags(CLI::App& app, SequenceFlags& flags);
// Throws Error(invalid_argument) for what is no such text.
void apply(const SequenceFlags& flags, DataOptions& options);

struct DataFlags {
  std::filesystem::path data;
  int64_t max_samples = 0;
  bool skip_bad = false;
  PreprocessFlags preprocess;
  SequenceFlags sequences;
};

// `name` is the option for the data itself: "--calib" of what calibrates, "--data" of what is run. What `flags` hold is the default.
CLI::Option* add_data_flags(CLI::App& app, DataFlags& flags, const std::string& name,
                            const std::string& help);

// Data for `engine_or_model` that remembers `remembered`.
DataOptions data_options(const DataFlags& flags, const std::optional<Preprocess>& remembered = {});

// Reads a whole text file of at most 1 MB; throws Error naming it.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace octet::cli
