// SPDX-License-Identifier: Apache-2.0
// Samples through contexts: as many at a time as a run of the engine takes, each with its own part of the outputs.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cli/samples/samples.h"
#include "octet/engine.h"
#include "octet/spread.h"

namespace octet::cli {

// Outputs from inputs, both in the order of the engine's.
using Runner = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
// The context's own run.
Runner runner_of(Context& context);
// The contexts' run, by whichever is idle; any threads may call it.
Runner runner_of(Spread& spread);

// A sample, and what each runner made of it.
using EachSample =
    std::function<void(const LoadedSample&, std::span<const std::vector<Tensor>> outputs)>;

// All samples that are left, in order. The runners take the inputs of `engine`, whose own comes first: `at_once` threads call it, each with the
// next samples when it has done its last; `each` and the other runners are called here. Sequences go step by step, and one at once needs no thread.
void run_samples(const Engine& engine, Samples& samples, std::span<const Runner> runners,
                 const EachSample& each, int at_once = 1);

// The samples that are left as the inputs of runs, one run a call; `done` is told how many samples were taken.
SampleSource run_source(const Engine& engine, Samples& samples,
                        std::function<void(int64_t done)> done);

// One run. An error names the sample, and where its size is the reason, the sizes that the network takes.
std::vector<Tensor> run_named(const Engine& engine, const Runner& runner,
                              std::span<const Tensor> inputs, const std::string& name);

}  // namespace octet::cli
