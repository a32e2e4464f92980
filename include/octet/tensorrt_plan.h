// SPDX-License-Identifier: Apache-2.0
// What an engine file carries for programs that were written for TensorRT (octet/attachment.h): names of bindings, optimization profiles,
// what was asked of the build. octet trtexec and the libraries of tensorrt/ write it and read it. Whoever reads it need not trust the
// file: every number lies in its range, and names and sizes are the engine's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet {

// Of one input: kMIN, kOPT, kMAX.
using ProfileSizes = std::array<std::vector<int64_t>, 3>;

// By the name of a binding.
struct OptimizationProfile {
  std::map<std::string, ProfileSizes> shapes;
  std::map<std::string, ProfileSizes> values;  // of shape inputs
};

// What is wrong with the sizes of an input that the engine declares as `shape`; empty: nothing. Of `values` the order alone counts.
std::string profile_problem(const ProfileSizes& sizes, const Shape& shape);
std::string order_problem(const ProfileSizes& values);

struct TensorRtBinding {
  std::string name;
  std::string value;  // of the engine
  bool is_input = false;
  std::string type;           // "Float", "Int8"
  std::vector<int64_t> dims;  // with -1 for what is open, and for the batch where it is implicit
  float scale = 0;            // of codes where the engine takes reals
  int32_t format = 0;         // TensorFormat
  bool on_host = false;
};

struct TensorRtPlan {
  std::string name = "Unnamed Network 0";
  bool implicit_batch = false;
  int64_t max_batch = 1;
  int32_t verbosity = 0;  // ProfilingVerbosity: names alone, nothing, everything
  bool refittable = false;
  std::vector<TensorRtBinding> bindings;  // inputs, then outputs; none: they are the engine's own
  std::vector<OptimizationProfile> profiles;
  std::vector<std::string> debug_tensors;
  std::string tuning;          // of octet/tuning.h, as JSON
  std::string refit_options;   // of octet/refit.h
  std::string plugins = "[]";  // a list as JSON, which tensorrt/ knows
  std::string rest;            // states of these plugins, then the model that a refit builds from
};

std::string to_bytes(const TensorRtPlan& plan);
// Of the bytes that an engine file carries; nothing where nobody of the two wrote them. Throws Error(invalid_model).
std::optional<TensorRtPlan> tensorrt_plan(std::span<const std::byte> attached);
// The same, held against the engine.
std::optional<TensorRtPlan> tensorrt_plan(const Engine& engine);
// Throws Error(invalid_model) where names or sizes are not the engine's.
void check_plan(const TensorRtPlan& plan, const Engine& engine);

}  // namespace octet
