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
  std::string file;
  std::string resize;
  std::string crop;
  std::string letterbox;
  std::string color;
  std::string layout;
  std::optional<double> scale;
  std::vector<double> mean;
  std::vector<double> std;
};

void add_preprocess_flags(CLI::App& app, PreprocessFlags& flags);

// The preprocessing that the flags describe on top of --preprocess FILE, or of `remembered` when no file is named.
// Nothing when neither exists and no flag is given.
std::optional<Preprocess> resolve(const PreprocessFlags& flags,
                                  const std::optional<Preprocess>& remembered);

struct DataFlags {
  std::filesystem::path data;
  int64_t max_samples = 0;
  bool skip_bad = false;
  PreprocessFlags preprocess;
};

// `name` is the option for the data itself: "--calib" or "--data".
CLI::Option* add_data_flags(CLI::App& app, DataFlags& flags, const std::string& name,
                            const std::string& help);

// Data for `engine_or_model` that remembers `remembered`.
DataOptions data_options(const DataFlags& flags, const std::optional<Preprocess>& remembered = {});

// Reads a whole text file of at most 1 MB; throws Error naming it.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace octet::cli
