// SPDX-License-Identifier: Apache-2.0
// What trtexec says of layers: their information and their times.
#pragma once

#include <vector>

#include "octet/tensorrt_inspector.h"
#include "tensorrt/trtexec/files.h"
#include "tensorrt/trtexec/inference.h"
#include "tensorrt/trtexec/profile_text.h"

namespace octet::cli::trtexec {

// Layers as the contexts run them.
class Layers {
 public:
  Layers(const Options& options, const Subject& subject);

  // --dumpLayerInfo, --exportLayerInfo, --dumpOptimizationProfile
  void report(const Options& options, const Files& files) const;
  // Runs the engine layer by layer, as long as the measuring run lasts. Layers without work are left out.
  std::vector<LayerTimes> profile(const Options& options, const Subject& subject) const;

 private:
  const Subject& subject_;
  EngineInspector inspector_;
};

void report_profile(const Options& options, const Files& files,
                    const std::vector<LayerTimes>& times);

// Of an engine that is not run.
void report_layers_without_context(const Options& options, const Files& files, const Engine& engine,
                                   const std::vector<Shape>& shapes);

}  // namespace octet::cli::trtexec
