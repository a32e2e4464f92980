// SPDX-License-Identifier: Apache-2.0
#include "clip_metrics.h"

namespace octet::triton {
namespace {

Labels with(Labels labels, const char* name, const std::string& value) {
  labels.emplace_back(name, value);
  return labels;
}

}  // namespace

ClipMetrics::ClipMetrics(const Engine& engine, double share, const MetricFamilies& families,
                         const Labels& labels)
    : families_(families),
      labels_(labels),
      watch_(engine, {share, [this](const std::vector<ClippedTensor>& all) { tell(all); }}) {
  begin(watch_.tensors());
}

// All of them from the beginning: a counter that appears when something happens has no rate.
void ClipMetrics::begin(const std::vector<ClippedTensor>& counted) {
  for (const ClippedTensor& tensor : counted) {
    const Labels labels = with(labels_, "tensor", tensor.tensor);
    series_.push_back({Metric(families_.values, labels),
                       Metric(families_.clipped_values, with(labels, "side", "low")),
                       Metric(families_.clipped_values, with(labels, "side", "high")), tensor});
    if (!tensor.calibrated) continue;
    calibrated_.emplace_back(families_.calibration_clipped, labels);
    calibrated_.back().set(*tensor.calibrated);
  }
}

void ClipMetrics::tell(const std::vector<ClippedTensor>& counted) {
  for (size_t i = 0; i < counted.size(); ++i) {
    Series& series = series_[i];
    const auto more = [](int64_t now, int64_t before) { return static_cast<double>(now - before); };
    series.values.add(more(counted[i].values, series.told.values));
    series.low.add(more(counted[i].below, series.told.below));
    series.high.add(more(counted[i].above, series.told.above));
    series.told = counted[i];
  }
}

}  // namespace octet::triton
