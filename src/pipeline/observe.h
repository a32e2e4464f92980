// SPDX-License-Identifier: Apache-2.0
// Runs the float graph over the calibration data and keeps a histogram and the channels' power of each value asked for.
#pragma once

#include <span>
#include <vector>

#include "calibrate/channel_histograms.h"
#include "calibrate/channel_power.h"
#include "calibrate/histogram.h"
#include "core/content_hash.h"
#include "data/sample_feed.h"
#include "graph/graph.h"
#include "octet/progress.h"

namespace octet {

class SampleChoice;  // pipeline/sample_choice.h

struct ObserveOptions {
  // Samples run side by side, one context each: fewer where more would pass the memory limit; with states one after another.
  int threads = 1;
  Monitor monitor = {};            // told of each sample as stage "calibrate"
  SampleChoice* choice = nullptr;  // gets every sample
  std::string device = "cpu";      // of the contexts
};

struct TensorObservation {
  Histogram histogram;
  ChannelPower power;
  ChannelHistograms channels;  // empty where they are not asked for

  void merge(const TensorObservation& other);
  template <class Archive>
  void archive(Archive& archive) {
    archive(histogram, power, channels);
  }
};

struct BodyValues {
  const Graph* body = nullptr;  // as a node of the graph, or of another body, holds it
  std::vector<ValueId> values;
};

// Values of a graph, and of bodies in it.
struct Observed {
  const Graph& graph;
  std::span<const ValueId> values;
  std::span<const BodyValues> bodies = {};
  std::span<const StateLink> states = {};
  std::span<const ValueId> channels = {};  // those of `values` whose channels are counted too
};

struct Observations {
  std::vector<TensorObservation> values;  // one for each of those asked for
  std::vector<std::vector<TensorObservation>>
      bodies;  // likewise, of each body: over all of its rounds
  s64 samples = 0;
  ContentDigest data_hash;         // of their inputs, in any order
  int at_once = 1;                 // samples that ran side by side, at most
  bool waited_for_memory = false;  // there were threads for more
};

// Over all samples of the feed. Every sample runs alone with batch 1 on one thread, so the result
// depends neither on the order of the samples nor on how many are handed over or computed at once.
// Memory is bounded by its limit, not by the number of threads: values are freed after their last reader, what is made of weights is
// there once, and a sample that memory has no room for waits for others to end.
Observations observe(const Observed& observed, SampleFeed& data, const ObserveOptions& options);

}  // namespace octet
