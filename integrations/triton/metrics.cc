// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include "failure.h"

namespace octet::triton {
namespace {

struct DeleteParameter {
  void operator()(TRITONSERVER_Parameter* parameter) const {
    TRITONSERVER_ParameterDelete(parameter);
  }
};
using ParameterPointer = std::unique_ptr<TRITONSERVER_Parameter, DeleteParameter>;

TRITONSERVER_MetricFamily* family(TRITONSERVER_MetricKind kind, const char* name,
                                  const char* description) {
  TRITONSERVER_MetricFamily* made = nullptr;
  ignore(TRITONSERVER_MetricFamilyNew(&made, kind, name, description));
  return made;
}

}  // namespace

void Metric::Delete::operator()(TRITONSERVER_Metric* metric) const {
  ignore(TRITONSERVER_MetricDelete(metric));
}

Metric::Metric(TRITONSERVER_MetricFamily* family, const Labels& labels) {
  if (family == nullptr) return;
  std::vector<ParameterPointer> owned;
  std::vector<const TRITONSERVER_Parameter*> given;
  for (const auto& [name, value] : labels) {
    owned.emplace_back(
        TRITONSERVER_ParameterNew(name.c_str(), TRITONSERVER_PARAMETER_STRING, value.c_str()));
    given.push_back(owned.back().get());
  }
  TRITONSERVER_Metric* made = nullptr;
  ignore(TRITONSERVER_MetricNew(&made, family, given.data(), given.size()));
  metric_.reset(made);
}

void Metric::add(double by) const {
  if (metric_ != nullptr && by > 0) ignore(TRITONSERVER_MetricIncrement(metric_.get(), by));
}

void Metric::set(double value) const {
  if (metric_ != nullptr) ignore(TRITONSERVER_MetricSet(metric_.get(), value));
}

MetricFamilies::MetricFamilies()
    : compilations(family(TRITONSERVER_METRIC_KIND_COUNTER, "octet_compilations_total",
                          "Plans, with their kernels, that were made after the model was ready")),
      rows(family(TRITONSERVER_METRIC_KIND_COUNTER, "octet_rows_total",
                  "Rows of requests that were run")),
      padded_rows(family(TRITONSERVER_METRIC_KIND_COUNTER, "octet_padded_rows_total",
                         "Rows that were run beside them, to fill a batch")),
      copied_bytes(family(TRITONSERVER_METRIC_KIND_COUNTER, "octet_copied_bytes_total",
                          "Bytes that were copied to gather batches and to take them apart")),
      engine_info(family(TRITONSERVER_METRIC_KIND_GAUGE, "octet_engine_info",
                         "Always 1: which engine a model runs")),
      values(family(TRITONSERVER_METRIC_KIND_COUNTER, "octet_values_total",
                    "Values that became codes, in the requests that were counted")),
      clipped_values(family(TRITONSERVER_METRIC_KIND_COUNTER, "octet_clipped_values_total",
                            "Values of these beyond their codes")),
      calibration_clipped(family(TRITONSERVER_METRIC_KIND_GAUGE, "octet_calibration_clipped_share",
                                 "The part of calibration's values beyond their codes")) {}

MetricFamilies::~MetricFamilies() {
  for (TRITONSERVER_MetricFamily* made :
       {compilations, rows, padded_rows, copied_bytes, engine_info, values, clipped_values,
        calibration_clipped}) {
    if (made != nullptr) ignore(TRITONSERVER_MetricFamilyDelete(made));
  }
}

}  // namespace octet::triton
