// SPDX-License-Identifier: Apache-2.0
#include "pipeline/float_model.h"

#include <algorithm>
#include <utility>

#include "calibrate/range.h"
#include "core/check.h"
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

void describe(const DataSource& data, const CalibrationOptions& options, Calibration& into) {
  into.data = options.data;
  into.preprocess = data.preprocess();
  into.samples = data.size();
  for (const SkippedItem& item : data.skipped())
    into.skipped.push_back(item.name + ": " + item.reason);
  into.notes = data.notes();
}

}  // namespace

bool carries_qdq(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return is_quantize(node) || is_dequantize(node) || node.op->domain == "octet";
  });
}

FloatModel optimize(Graph graph, const RewriteOptions& rewrites) {
  FloatModel model;
  const PassOptions options{rewrites.disabled_passes, rewrites.stop_after_rewrites};
  run_passes(graph, float_passes(), options, &model.passes);
  model.carries_qdq = carries_qdq(graph);
  model.graph = std::make_shared<const Graph>(std::move(graph));
  model.weight_codes = std::make_shared<WeightCodes>();
  return model;
}

FloatModel calibrate(const FloatModel& model, const CalibrationOptions& options,
                     const StageOptions& stage) {
  OCTET_CHECK(!model.carries_qdq);
  const auto progress = [&](const char* name) {
    return [&stage, name](s64 done, s64 total) {
      if (stage.progress) stage.progress({name, done, total});
    };
  };
  DataSource data = DataSource::open(options, inputs_of(*model.graph));
  data.validate(progress("check data"));
  auto calibration = std::make_shared<Calibration>();
  calibration->values = values_to_observe(*model.graph);
  calibration->observations =
      observe(*model.graph, calibration->values, data, {stage.threads, progress("calibrate")});
  for (const Observation& seen : calibration->observations)
    calibration->statistics.push_back(statistics_of(seen));
  describe(data, options, *calibration);
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
