// SPDX-License-Identifier: Apache-2.0
// What trtexec's flags ask for.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "octet/tensorrt_inspector.h"
#include "tensorrt/trtexec/arguments.h"
#include "tensorrt/trtexec/shapes.h"

namespace octet::cli::trtexec {

// Which version's texts are printed.
struct Version {
  std::string text;   // "8.6.1"
  std::string code;   // "8601", "101600"
  std::string build;  // " [b72]"
  bool old = false;   // 8.6
};

struct Options {
  Arguments given;
  Version version;

  std::string onnx;
  std::string load;
  std::string save;
  bool int8 = false;
  bool strongly_typed = false;
  bool skip_inference = false;
  std::vector<ShapeRanges> profiles;
  ShapeRanges calibration_shapes;
  InspectorVerbosity verbosity = InspectorVerbosity::layer_names_only;

  std::map<std::string, Shape> shapes;
  std::string assumed;  // "x:1x3x224x224": of inputs whose open sizes nobody gave
  std::vector<std::pair<std::string, std::string>> inputs;  // name, file
  int64_t iterations = 10;
  double warm_up_ms = 200;
  double duration_s = 3;
  double sleep_ms = 0;
  double idle_ms = 0;
  int streams = 1;
  int threads = 0;  // of each stream; 0: all of the machine, divided by the streams
  size_t profile = 0;

  int64_t average_runs = 10;
  std::vector<double> percentiles = {90, 95, 99};
  int schema = 10;
  std::string device = "cpu";

  bool has(std::string_view name) const { return given.has(name); }
  bool profiles_layers() const { return has("--dumpProfile") || has("--exportProfile"); }
};

// Throws Error(invalid_argument) for what trtexec refuses, with its text where users search for that. Warnings are logged.
Options parse_options(const Arguments& given);
Version parse_version(const Arguments& given);

}  // namespace octet::cli::trtexec
