// SPDX-License-Identifier: Apache-2.0
// What trtexec keeps in a plan beside its engine, for TensorRT's interface and for --loadEngine: profiles, verbosity, how it was built.
#pragma once

#include <optional>

#include "octet/compile.h"
#include "octet/engine.h"
#include "tensorrt/trtexec/options.h"
#include "tensorrt/trtexec/tensorrt_plugins.h"

namespace octet::cli::trtexec {

// Inputs of open sizes that a profile leaves out get some in it, which is said; those that run are the profile's where --shapes gives none.
// Throws Error(invalid_argument) for sizes that the engine does not take.
void complete_profiles(const Engine& engine, Options& options);
// The same of a loaded plan, whose profiles and verbosity count. Throws Error(invalid_argument) where it has no profile of that number.
void take_plan(const Engine& engine, Options& options);

// Before anything is built: throws Error(unsupported) where --refit is asked of a model that cannot have it.
void check_refittable(const Options& options, bool has_plugins);

// How an engine was built.
struct Built {
  const CompileOptions& options;
  const CompileReport& report;
  const std::optional<PluginModel>& plugins;
};
// The engine with what is kept. With --refit that is also the model, and how it was built.
Engine with_plan(const Engine& engine, const Options& options, const Built& built);
// The engine of the same model with the weights of --refitFromOnnx.
Engine refitted(const Engine& engine, const Options& options);

}  // namespace octet::cli::trtexec
