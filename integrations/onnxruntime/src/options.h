// SPDX-License-Identifier: Apache-2.0
// What a program tells the provider: options of the device and entries of the session's configuration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host.h"
#include "octet/compile.h"

namespace octet_ort {

struct Options {
  std::string device = "cpu";
  std::string memory = "cpu";   // where a session's tensors lie: the host's, or the device's
  int threads = 0;              // of all runs at once; 0: as many as this process may use
  int streams = 1;              // runs at once
  std::filesystem::path cache;  // "octet.calibration_cache"
  bool cache_of_any_model = false;
  int64_t observe = 0;                       // "octet.int8=observe:N"
  int64_t observe_bytes = int64_t{1} << 30;  // of inputs that are kept meanwhile
  bool take_all = false;                     // also parts without INT8
  bool from_file = true;  // a whole model is built from its file where there is one
  bool equalize = true;
  std::optional<double> accuracy_time = {};  // PrecisionPlan
  std::filesystem::path save_models;         // folder that each part is written to as ONNX

  // ONNX Runtime's own, of compiled models.
  bool context_enabled = false;
  bool context_embedded = true;
  std::filesystem::path context_path;

  bool int8_wanted() const { return !cache.empty() || observe > 0; }
};

using Entries = std::vector<std::pair<std::string, std::string>>;

// `entries` are all of a session; what is not the provider's is not looked at. `device` is the one where no entry names another. Throws one Error(invalid_argument) that lists everything that is
// wrong: names that no option has, numbers out of range, words that are none.
Options parse_options(const Entries& entries, const std::string& device);

// The configuration of a session.
Entries entries_of(const Host& host, const OrtSessionOptions* session);

}  // namespace octet_ort
