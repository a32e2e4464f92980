// SPDX-License-Identifier: Apache-2.0
// The engine that trtexec measures: built from a model, or loaded.
#pragma once

#include <memory>

#include "octet/engine.h"
#include "octet/tuning.h"
#include "tensorrt/trtexec/files.h"
#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

// Logs what trtexec logs, and writes the engine and the calibration cache where they are asked for. The options get the profiles of a plan
// that is loaded, and sizes of all inputs.
Engine obtain_engine(Options& options, const Files& files);

// Threads of each stream.
int threads_of(const Options& options);

// The choices of --timingCacheFile: read, completed by measuring this engine, written. Null without that flag.
std::shared_ptr<const Tuning> obtain_tuning(const Options& options, const Files& files,
                                            const Engine& engine, std::span<const Tensor> inputs);

}  // namespace octet::cli::trtexec
