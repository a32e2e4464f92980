// SPDX-License-Identifier: Apache-2.0
// What a plan holds beside its engine (octet/tensorrt_plan.h), in the types of the level: a plan is an Octet engine like any other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/tensorrt_plan.h"
#include "tensorrt/plugins/live.h"
#include "tensorrt/shared/types.h"

namespace octet_trt {

struct BindingInfo {
  std::string name;
  std::string onnx;  // of the engine's value
  bool is_input = false;
  DataType type = DataType::kFLOAT;
  std::vector<int64_t> dims;  // with -1 for the batch where it is implicit
  float scale = 0;            // INT8 bindings of an engine that takes floats: the value of one step
  TensorFormat format = TensorFormat::kLINEAR;
  bool on_host = false;
};

using ProfileShapes = octet::ProfileSizes;
using ProfileInfo = octet::OptimizationProfile;

struct PlanInfo {
  std::string name = "Unnamed Network 0";
  bool implicit_batch = false;
  int64_t max_batch = 1;
  int64_t verbosity = 2;  // an engine that no facade made has all details
  bool refittable = false;
  std::vector<BindingInfo> bindings;  // inputs, then outputs
  std::vector<ProfileInfo> profiles;
  std::vector<std::string> debug_tensors;
  std::string tuning;       // of octet/tuning.h, as JSON
  std::string refit_model;  // what a refit builds from; empty where the plan does not allow it
  std::string refit_options;
  std::vector<PluginRecord> plugins;
};

// Throws octet::Error where names and sizes are not the engine's.
octet::Engine with_plan_info(const octet::Engine& engine, const PlanInfo& info);
// Of an engine that no facade made, what it says itself. Throws octet::Error.
PlanInfo plan_info(const octet::Engine& engine);
// The plugins that these bytes, which are attached to a plan, tell of; none where no facade wrote them. Throws octet::Error.
std::vector<PluginRecord> attached_plugins(std::span<const std::byte> attached);
// The engine of a plan, whose plugins are told to Octet before. Throws octet::Error.
octet::Engine load_plan(std::span<const std::byte> plan);

}  // namespace octet_trt
