// SPDX-License-Identifier: Apache-2.0
#include "pipeline/float_model.h"

#include <algorithm>
#include <utility>

#include "calibrate/range.h"
#include "core/check.h"
#include "core/monitor.h"
#include "data/sample_feed.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "passes/pass.h"

namespace octet {
namespace {

std::vector<TensorInfo> inputs_of(const Graph& graph) {
  std::vector<TensorInfo> infos;
  for (ValueId id : graph.inputs) infos.push_back({graph.value(id).name, graph.value(id).type});
  return infos;
}

std::shared_ptr<const TensorStatistics> statistics_of(const Observation& seen) {
  const auto counts = seen.histogram.counts();
  return std::make_shared<TensorStatistics>(
      TensorStatistics{static_cast<f32>(seen.histogram.bin_width()),
                       {counts.begin(), counts.end()},
                       seen.power.means(),
                       seen.power.mean_squares()});
}

void observe_samples(const Graph& graph, SampleFeed& feed, const StageOptions& stage,
                     Calibration& into) {
  Observations seen = observe(graph, into.values, feed, {stage.threads, stage.monitor});
  into.samples = seen.samples;
  into.observations = std::move(seen.values);
}

// Files are read once before anything is computed.
void observe_files(const Graph& graph, const CalibrationOptions& options, const StageOptions& stage,
                   Calibration& into) {
  DataSource data = DataSource::open(options, inputs_of(graph));
  data.validate(
      [&](s64 done, s64 total) { report_progress(stage.monitor, "check data", done, total); });
  observe_samples(graph, *feed_of(data), stage, into);
  into.data = options.data;
  into.preprocess = data.preprocess();
  for (const SkippedItem& item : data.skipped())
    into.skipped.push_back(item.name + ": " + item.reason);
  into.notes = data.notes();
}

// The caller's own samples can be read only once: each is checked as it comes.
void observe_own(const Graph& graph, const CalibrationOptions& options, const StageOptions& stage,
                 Calibration& into) {
  if (!options.data.empty()) {
    fail(Error::Code::invalid_argument,
         "calibration data are given twice: as files in '{}' and as samples of the caller",
         options.data.string());
  }
  observe_samples(graph, *feed_of(options.samples, inputs_of(graph)), stage, into);
  if (into.samples == 0) {
    fail(Error::Code::invalid_argument,
         "the caller's calibration data end before the first sample");
  }
  into.preprocess = options.preprocess;
}

}  // namespace

bool carries_qdq(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return is_quantize(node) || is_dequantize(node) || node.op->domain == "octet";
  });
}

FloatModel optimize(Graph graph, const RewriteOptions& rewrites, const Monitor& monitor) {
  FloatModel model;
  PassOptions options{rewrites.disabled_passes, rewrites.stop_after_rewrites};
  options.monitor = monitor;
  run_passes(graph, float_passes(), options, &model.passes);
  model.carries_qdq = carries_qdq(graph);
  model.graph = std::make_shared<const Graph>(std::move(graph));
  model.weight_codes = std::make_shared<WeightCodes>();
  return model;
}

FloatModel calibrate(const FloatModel& model, const CalibrationOptions& options,
                     const StageOptions& stage) {
  OCTET_CHECK(!model.carries_qdq);
  auto calibration = std::make_shared<Calibration>();
  calibration->values = values_to_observe(*model.graph);
  (options.samples ? observe_own : observe_files)(*model.graph, options, stage, *calibration);
  for (const Observation& seen : calibration->observations)
    calibration->statistics.push_back(statistics_of(seen));
  FloatModel calibrated = model;
  calibrated.calibration = std::move(calibration);
  return with_method(calibrated, options.method);
}

FloatModel with_method(const FloatModel& model, RangeMethod method) {
  OCTET_CHECK(model.calibration != nullptr);
  const Calibration& calibration = *model.calibration;
  Ranges ranges;
  for (size_t i = 0; i < calibration.values.size(); ++i) {
    const std::string& name = model.graph->value(calibration.values[i]).name;
    Range range = estimate_range(calibration.observations[i].histogram, method, name);
    range.seen = calibration.statistics[i];
    ranges.emplace(calibration.values[i], std::move(range));
  }
  return with_ranges(model, std::move(ranges));
}

FloatModel with_ranges(const FloatModel& model, Ranges ranges) {
  FloatModel ranged = model;
  ranged.ranges = std::make_shared<const Ranges>(std::move(ranges));
  return ranged;
}

FloatModel with_assumed_ranges(const FloatModel& model) {
  Ranges ranges;
  for (ValueId id : values_to_observe(*model.graph)) {
    ranges[id] = {.tensor = model.graph->value(id).name, .min = -1, .max = 1, .threshold = 1};
  }
  return with_ranges(model, std::move(ranges));
}

}  // namespace octet
