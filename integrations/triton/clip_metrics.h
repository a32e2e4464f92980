// SPDX-License-Identifier: Apache-2.0
// What codes clip of the values of requests, as metrics: of some requests, counted beside them (octet/clipping.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "metrics.h"
#include "octet/clipping.h"

namespace octet::triton {

class ClipMetrics {
 public:
  // `share`: of one processor's time. Throws what ClipWatch throws.
  ClipMetrics(const Engine& engine, double share, const MetricFamilies& families,
              const Labels& labels);

  void prepare(std::span<const Shape> shapes) { watch_.prepare(shapes); }
  bool wants() const { return watch_.wants(); }
  void offer(std::vector<Tensor> inputs) { watch_.offer(std::move(inputs)); }

 private:
  // Of one tensor.
  struct Series {
    Metric values, low, high;
    ClippedTensor told;  // so far
  };

  // By the watch's thread.
  void tell(const std::vector<ClippedTensor>& counted);
  void begin(const std::vector<ClippedTensor>& counted);

  const MetricFamilies& families_;
  const Labels labels_;
  std::vector<Series> series_;
  std::vector<Metric> calibrated_;
  ClipWatch watch_;  // ends before what it tells
};

}  // namespace octet::triton
