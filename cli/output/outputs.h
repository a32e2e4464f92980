// SPDX-License-Identifier: Apache-2.0
// The files that commands write. Each is a flag that Outputs makes; main() has all of a command's checked before its work begins, and
// write() is the only way to write one (tools/check_outputs.py), so that no flag can destroy what it should not.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/calibration_cache.h"
#include "octet/case.h"
#include "octet/engine.h"
#include "octet/report.h"
#include "octet/tuning.h"

namespace octet::cli {

// What a file holds: files that begin otherwise are somebody else's.
enum class OutputKind {
  engine,
  report,
  arrays,
  bundle,  // a case
  tuning,
  cache,
  runs,
  trace,
  journal,      // lines that a search adds
  fresh_cache,  // of trtexec: a calibration cache that is written whatever is there
  records,      // of trtexec: times, profiles, values of outputs
  layers,       // of TensorRT's inspector
  raw,          // elements of a tensor
  onnx,
};

struct OutputFlag {
  const char* names;  // "-o,--output"
  const char* type;   // in the help: "FILE.npz"
  OutputKind kind;
  const char* help;
};

class Output {
 public:
  bool given() const { return !path_.empty(); }
  // "-": standard output.
  bool is_standard() const { return path_ == "-"; }
  // As the user wrote it: for messages, and for commands that read before they write.
  const std::filesystem::path& path() const { return path_; }

 private:
  friend class Outputs;
  friend const std::filesystem::path& checked_path(const Output& output);

  OutputKind kind_ = OutputKind::engine;
  std::string flag_;  // "-o"
  const CLI::Option* option_ = nullptr;
  std::filesystem::path path_;
  std::function<std::filesystem::path()> default_path_;
  bool checked_ = false;
};

// All outputs of a command, and its --force.
class Outputs {
 public:
  // A flag of `app` that names a file to write. The reference lasts as long as this object.
  Output& add_flag(CLI::App& app, const OutputFlag& flag);
  // Where it goes when the flag is absent.
  static void set_default(Output& output, std::function<std::filesystem::path()> path);

  // Throws Error(invalid_argument or io) for an output that is an input, that another output is too, that is no regular file, whose
  // folder is missing, or, without --force, that is a file which Octet did not write. Inputs are whatever else the command line
  // names: files, what lies in folders, weights beside models; links count as what they name.
  void check(const CLI::App& app);

 private:
  void check_existing(const Output& output, const std::filesystem::path& target,
                      const CLI::App& app, const std::set<const CLI::Option*>& flags) const;

  std::deque<Output> outputs_;
  bool force_ = false;
};

void write(const Output& to, const Engine& engine);
void write(const Output& to, const ReportInput& report);
void write(const Output& to, std::span<const std::pair<std::string, Tensor>> arrays);
void write(const Output& to, const Tuning& tuning);
void write(const Output& to, const nlohmann::ordered_json& object);  // runs and traces
void write(const Output& to, const CalibrationCache& cache);
void write(const Output& to, const Case& bundled);
void write_lines(const Output& to, std::string_view text);       // records, layers, raw
void write(const Output& to, std::span<const std::byte> bytes);  // a model

}  // namespace octet::cli
