// SPDX-License-Identifier: Apache-2.0
// Flags about 16-bit floats: --fp16, --bf16, --best, --fix-subnormals; and the table of weights that f16 does not hold.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "octet/compile.h"
#include "octet/inspect.h"

namespace octet::cli {

struct HalfFlags {
  bool best = false;
};

void add_half_flags(CLI::App& app, PrecisionPlan& plan, HalfFlags& flags);
// --best: INT8 where there are ranges, and the fastest of the rest.
void apply(const HalfFlags& flags, bool has_ranges, PrecisionPlan& plan);

// Where layers compute on f16 on the CPU, whose kernels for it are slower than those for f32: one line that says so; else empty.
std::string slow_halves(std::span<const LayerInfo> layers);

// Prints nothing where f16 holds all weights.
void print_half_weights(const CompileReport& report);
nlohmann::ordered_json half_weights_json(const CompileReport& report);

}  // namespace octet::cli
