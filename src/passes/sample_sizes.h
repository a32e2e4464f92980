// SPDX-License-Identifier: Apache-2.0
// Which sizes the open dimensions of a graph's inputs get where types are inferred by sampling (passes/infer_types.h).
#pragma once

#include <set>
#include <vector>

#include "graph/graph.h"

namespace octet {

struct SampleSizes {
  s64 batch;
  s64 other;  // any dimension that is neither batch nor the size of an image
  s64 image;  // height and width: a multiple of 32, as detectors ask
};

struct SizePair {
  SampleSizes first, second;
};

inline constexpr SizePair kUsualSizes{{2, 8, 224}, {3, 9, 256}};

// How the open sizes of a model may be taken.
struct SizeAttempt {
  SizePair samples = kUsualSizes;
  bool one_sample = false;  // the batch becomes 1
  s64 image = 0;            // unless 0, images have this size
  s64 channels = 0;         // unless 0, images of which nothing is stated have so many channels
  s64 features = 0;         // unless 0, what is no image has this size along `axis`
  int axis = -1;
  bool is_small = false;  // for models whose values pass a limit at the usual sizes
};

// The usual sizes first; then what models take that refuse these; small ones last.
std::vector<SizeAttempt> attempts_for(const Graph& graph, const std::vector<Shape>& declared);

bool has_dynamic_input(const Graph& graph);
// The shapes of the inputs for these sizes. The dynamic dimension `single` is 1.
std::vector<Shape> sample_shapes(const Graph& graph, const SampleSizes& sizes, s64 single = 0);
// The declared shapes with the sizes that the attempt states.
std::vector<Shape> stated_shapes(const std::vector<Shape>& declared, const SizeAttempt& attempt);
// The dynamic dimensions that inputs do not share. Sizes of images are left out: pyramids of one pixel add what no other
// image lets them add.
std::set<s64> independent_sizes(const Graph& graph);
// Each open size of an image another one: an image need not be square, and a decoder's caches of rank 4 have lengths of their own. Nothing
// where there are less than two.
std::vector<Shape> unequal_images(const Graph& graph, const SampleSizes& sizes);

}  // namespace octet
