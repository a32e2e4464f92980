// SPDX-License-Identifier: Apache-2.0
// The samples that a method tries beside those that it counts: few enough to be kept, chosen by what they hold. The same data give the
// same ones, in the same order, however files are called, in whatever order samples come and whichever thread takes them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/content_hash.h"
#include "data/sample_feed.h"

namespace octet {

class SampleChoice {
 public:
  // Copies what it keeps. `digests`: of each sample of the run by itself.
  void add(const FedSample& run, const std::vector<ContentDigest>& digests);

  // As runs of the model.
  std::vector<std::vector<Tensor>> runs() const;

 private:
  using Digest = std::pair<u64, u64>;
  void keep(const Digest& digest, std::vector<Tensor> sample);

  // Those with the smallest digests that are enough: which of them are, no sample that comes later can change.
  std::multimap<Digest, std::vector<Tensor>> kept_;
  size_t bytes_ = 0;
  s64 rows_ = 1;  // that a run takes
};

}  // namespace octet
