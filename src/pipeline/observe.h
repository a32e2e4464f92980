// SPDX-License-Identifier: Apache-2.0
// Runs the float graph over the calibration data and keeps a histogram and the channels' power of each value asked for.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "calibrate/channel_power.h"
#include "calibrate/histogram.h"
#include "graph/graph.h"
#include "octet/data.h"

namespace octet {

struct ObserveOptions {
  int threads = 1;  // samples run side by side, one context each
  std::function<void(s64 done, s64 total)> progress;
};

struct Observation {
  Histogram histogram;
  ChannelPower power;
};

// One observation for each of `values`, over all samples. Every sample runs alone with batch 1 on one thread, so the result
// depends neither on the order of the samples nor on how many are handed over or computed at once.
std::vector<Observation> observe(const Graph& graph, std::span<const ValueId> values,
                                 const DataSource& data, const ObserveOptions& options);

}  // namespace octet
