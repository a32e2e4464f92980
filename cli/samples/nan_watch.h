// SPDX-License-Identifier: Apache-2.0
// Says once where NaN and infinities of a run come from. Outputs that are finite cost a look at them; only where they are not, or where
// they would be although a layer gave NaN, is the engine run once more, layer by layer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/nan_trace.h"

namespace octet::cli {

// What was found; no warnings, and null, where nothing was.
struct NanReport {
  std::vector<std::string> warnings = {};  // one sentence for each of NaN, infinities and codes
  nlohmann::ordered_json json = nullptr;
};

class NanWatch {
 public:
  // `engine` must outlive it. `what`: how a message calls it; empty: it needs no name.
  NanWatch(const Engine& engine, TraceOptions options, std::string what = {});
  NanWatch(const NanWatch&) = delete;
  NanWatch& operator=(const NanWatch&) = delete;

  // What the engine made of a sample, or of a whole run; true where that is the one that report() tells of. Of sequences, whose states
  // nobody keeps, nothing is traced.
  bool look_at(const std::string& name, std::span<const Tensor> inputs,
               std::span<const Tensor> outputs);
  NanReport report() const;

 private:
  std::vector<std::string> warnings() const;

  const Engine& engine_;
  TraceOptions options_;
  std::string what_;
  bool first_;  // no run was looked at, and the outputs do not tell
  std::optional<NanTrace> trace_;
  std::string sample_;
};

}  // namespace octet::cli
