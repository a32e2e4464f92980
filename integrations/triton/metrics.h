// SPDX-License-Identifier: Apache-2.0
// Numbers of our own beside the server's, where it keeps any: docs/serving.md lists them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "triton_api.h"

namespace octet::triton {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One number; none where the server was built or started without metrics.
class Metric {
 public:
  Metric() = default;
  Metric(TRITONSERVER_MetricFamily* family, const Labels& labels);

  void add(double by) const;
  void set(double value) const;

 private:
  struct Delete {
    void operator()(TRITONSERVER_Metric* metric) const;
  };
  std::unique_ptr<TRITONSERVER_Metric, Delete> metric_;
};

// The backend's; they outlive the models.
class MetricFamilies {
 public:
  MetricFamilies();
  ~MetricFamilies();
  MetricFamilies(const MetricFamilies&) = delete;
  MetricFamilies& operator=(const MetricFamilies&) = delete;

  TRITONSERVER_MetricFamily* compilations = nullptr;
  TRITONSERVER_MetricFamily* rows = nullptr;
  TRITONSERVER_MetricFamily* padded_rows = nullptr;
  TRITONSERVER_MetricFamily* copied_bytes = nullptr;
  TRITONSERVER_MetricFamily* engine_info = nullptr;
  TRITONSERVER_MetricFamily* values = nullptr;
  TRITONSERVER_MetricFamily* clipped_values = nullptr;
  TRITONSERVER_MetricFamily* calibration_clipped = nullptr;
};

// Of one version of a model.
struct ModelMetrics {
  ModelMetrics() = default;
  ModelMetrics(const MetricFamilies& families, const Labels& labels)
      : compilations(families.compilations, labels),
        rows(families.rows, labels),
        padded_rows(families.padded_rows, labels),
        copied_bytes(families.copied_bytes, labels) {}

  Metric compilations, rows, padded_rows, copied_bytes;
};

}  // namespace octet::triton
