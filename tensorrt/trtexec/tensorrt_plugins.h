// SPDX-License-Identifier: Apache-2.0
// Plugins of TensorRT, run by libnvinfer of tensorrt/, which is opened where a flag names a library of such plugins.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

// Registers the creators of a library. Throws Error(invalid_argument) with the reason.
void load_tensorrt_library(const std::string& library, bool old);

struct PluginModel {
  std::span<const std::byte> onnx;  // with operators in place of the plugins
  std::string plugins;              // what a plan keeps of them: TensorRtPlan::plugins
  std::string states;
};
// The model of --onnx where it has plugins of the libraries that were loaded. Throws Error for a plugin that fails.
std::optional<PluginModel> plugin_model(const Options& options);
// Makes the plugins of --loadEngine again, before its engine is loaded. Throws Error for one that fails.
void open_plan_plugins(const Options& options);
// Of an engine that could not be loaded: throws Error where it is a plan with plugins of TensorRT whose library was not loaded.
void check_plan_plugins(const Options& options);

}  // namespace octet::cli::trtexec
