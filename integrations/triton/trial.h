// SPDX-License-Identifier: Apache-2.0
// Runs over made-up data before the first request: whether rows of a batch are independent, and what a batch costs.
#pragma once

#include <string>
#include <vector>

#include "batch_plan.h"
#include "runner.h"
#include "settings.h"
#include "signature.h"

namespace octet::triton {

// Sizes of one request that the engine probably takes: open sizes are 224 in images and 8 elsewhere.
SampleShapes guessed_sample(const std::vector<TensorInfo>& inputs);
// Shapes of a run: `rows` before each of the sample's, or the sample's own where requests carry whole shapes (rows: 0).
std::vector<Shape> shapes_of(const SampleShapes& sample, int64_t rows);

// Empty where each output has one row for each of `rows`; else why not.
std::string unlike_rows(const Runner::Prepared& prepared, const Signature& signature, int64_t rows);

// Empty where a batch of several rows gives each row what it gives beside any others, to the byte, and outputs have one row for each; else
// why not. It is tried with `rows` rows: where rows depend on each other, requests of strangers must not share a run. Throws Error where the
// engine does not run on them.
std::string mixes_rows(Runner& runner, const Signature& signature, const SampleShapes& sample,
                       int64_t rows);

// A run over made-up data; the least of a few times in seconds. `by_rows`: each row in memory of its own, as requests come, so that what a batch copies
// counts.
double timed_run(const Runner::Prepared& prepared, const std::vector<TensorInfo>& inputs,
                 bool by_rows);

}  // namespace octet::triton
