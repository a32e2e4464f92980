// SPDX-License-Identifier: Apache-2.0
// The files that trtexec writes: checked before its work begins, as those of every command.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/output/outputs.h"
#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

class Files {
 public:
  // Throws Error for what Outputs::check() refuses.
  explicit Files(const Options& options);

  const Output& engine() const { return *engine_; }
  const Output& cache() const { return *cache_; }
  const Output& tuning() const { return *tuning_; }
  const Output& times() const { return *times_; }
  const Output& output() const { return *output_; }
  const Output& profile() const { return *profile_; }
  const Output& layers() const { return *layers_; }

 private:
  CLI::App app_;
  Outputs outputs_;
  std::vector<std::string> inputs_;
  Output* engine_ = nullptr;
  Output* cache_ = nullptr;
  Output* tuning_ = nullptr;
  Output* times_ = nullptr;
  Output* output_ = nullptr;
  Output* profile_ = nullptr;
  Output* layers_ = nullptr;
};

// A file of the current folder whose name nobody could know before, with these bytes.
void write_raw(const std::string& name, std::span<const std::byte> bytes, bool force);

}  // namespace octet::cli::trtexec
