// SPDX-License-Identifier: Apache-2.0
// --fp16, --best, --precisionConstraints, --layerPrecisions, --layerOutputTypes: which layer gets which type.
#pragma once

#include <vector>

#include "octet/compile.h"
#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

// Throws Error(invalid_argument) for entries that are wrong; warns, with trtexec's texts, of those without effect.
PrecisionPlan precision_plan(const Options& options);

// Which node was asked for which type, and which got another one.
void log_precisions(const Options& options, const Engine& engine, const std::vector<Shape>& shapes);

}  // namespace octet::cli::trtexec
