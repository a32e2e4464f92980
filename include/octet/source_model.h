// SPDX-License-Identifier: Apache-2.0
// Several engines of one ONNX model: imported once, calibrated once, the weights of a layer quantized once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "octet/compile.h"

namespace octet {

// Copies are cheap and share everything; any number of threads may use one at once.
class SourceModel {
 public:
  // Imports the model. Of `options.plan` the rewrites count, for all engines; the rest is as for compile(). Data are read when an
  // engine first needs ranges, or weights of f16 are measured on them; the monitor is told of each build. Throws as compile() does for a
  // model that is wrong.
  static SourceModel read(const std::filesystem::path& onnx_file,
                          const CompileOptions& options = {});
  // The same from the bytes of such a file, which are read during the call.
  static SourceModel read(std::span<const std::byte> onnx_model,
                          const CompileOptions& options = {});

  // The engine that compile() makes of the model with this plan, to the byte, and its report. Where the options' own plan is INT8 and there
  // are data, every engine keeps what was told of preprocessing as it was told: arrays need not be what images become.
  Engine build(const PrecisionPlan& plan, CompileReport* report = nullptr) const;

  struct Impl;  // Octet's own

 private:
  friend struct SourceInside;
  explicit SourceModel(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace octet
