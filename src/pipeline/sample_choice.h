// SPDX-License-Identifier: Apache-2.0
// The samples that a method tries beside those that it counts: few enough to be kept, chosen by what they hold. The same data give the
// same ones, in the same order, however files are called, in whatever order samples come and whichever thread takes them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/content_hash.h"
#include "data/sample_feed.h"

namespace octet {

// How many are kept: `most`, or `fewest` where these have `large` bytes; none that has more than `largest`.
struct ChoiceSize {
  size_t fewest = 0, most = 0;
  size_t large = 0, largest = 0;
};
// Fewer would miss what is rare, and cut it off.
inline constexpr ChoiceSize kTriedSamples{16, 64, size_t{32} << 20, SIZE_MAX};
inline constexpr ChoiceSize kComparedSamples{1, 4, size_t{32} << 20, size_t{32} << 20};

class SampleChoice {
 public:
  explicit SampleChoice(const ChoiceSize& size = kTriedSamples) : size_(size) {}

  // Copies what it keeps. `digests`: of each sample of the run by itself.
  void add(const FedSample& run, const std::vector<ContentDigest>& digests);

  // As runs of the model; those of a smaller choice alone, which are the ones that it would have kept.
  std::vector<std::vector<Tensor>> runs() const { return runs(size_); }
  std::vector<std::vector<Tensor>> runs(const ChoiceSize& size) const;
  s64 rows() const { return rows_; }  // of a run

 private:
  using Digest = std::pair<u64, u64>;
  void keep(const Digest& digest, std::vector<Tensor> sample);

  ChoiceSize size_;
  // Those with the smallest digests that are enough: which of them are, no sample that comes later can change.
  std::multimap<Digest, std::vector<Tensor>> kept_;
  size_t bytes_ = 0;
  s64 rows_ = 1;  // that a run takes
};

}  // namespace octet
