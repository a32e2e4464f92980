// SPDX-License-Identifier: Apache-2.0
// THE SPINE: compile() calls every stage in order. Read this first.
#include <algorithm>
#include <iterator>

#include "calibrate/range.h"
#include "core/check.h"
#include "core/memory.h"
#include "graph/op_traits.h"
#include "graph/verify.h"
#include "octet/compile.h"
#include "onnx/import.h"
#include "passes/infer_types.h"
#include "passes/pass.h"
#include "pipeline/build.h"
#include "pipeline/observe.h"
#include "precision/precision.h"
#include "runtime/model.h"

namespace octet {
namespace {

void report_stage(const CompileOptions& options, std::string stage, s64 done = 0, s64 total = 0) {
  if (options.progress) options.progress({std::move(stage), done, total});
}

std::vector<TensorInfo> inputs_of(const Graph& graph) {
  std::vector<TensorInfo> infos;
  for (ValueId id : graph.inputs) infos.push_back({graph.value(id).name, graph.value(id).type});
  return infos;
}

TensorRange to_public(const std::string& name, const Histogram& histogram,
                      const RangeEstimate& estimate) {
  TensorRange range{name,
                    histogram.min(),
                    histogram.max(),
                    estimate.threshold,
                    static_cast<float>(histogram.bin_width()),
                    {}};
  range.histogram.assign(histogram.counts().begin(), histogram.counts().end());
  return range;
}

const CalibrationOptions& required_calibration(const CompileOptions& options) {
  if (options.calibration) return *options.calibration;
  fail(Error::Code::invalid_argument,
       "INT8 needs calibration data (--calib), or a model that carries Q/DQ nodes");
}

// Ranges of the values that quantization needs, from the float graph run over the data.
Ranges calibrate(const Graph& graph, const CompileOptions& options, Model& model,
                 CompileReport& report) {
  const CalibrationOptions& calibration = required_calibration(options);
  DataSource data = DataSource::open(calibration, inputs_of(graph));
  data.validate([&](s64 done, s64 total) { report_stage(options, "check data", done, total); });
  const std::vector<ValueId> values = values_to_observe(graph);
  const std::vector<Observation> seen =
      observe(graph, values, data, {options.threads, [&](s64 done, s64 total) {
                                      report_stage(options, "calibrate", done, total);
                                    }});
  Ranges ranges;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = graph.value(values[i]).name;
    const RangeEstimate estimate = estimate_range(seen[i].histogram, calibration.method, name);
    ranges[values[i]] = {estimate.min, estimate.threshold, estimate.max,
                         seen[i].power.mean_squares(), seen[i].power.means()};
    report.ranges.push_back(to_public(name, seen[i].histogram, estimate));
  }
  model.preprocess = data.preprocess();
  model.range_method = calibration.method == RangeMethod::entropy ? "entropy" : "minmax";
  model.calibration_samples = report.calibration_samples = data.size();
  report.calibration_skipped = static_cast<s64>(data.skipped().size());
  for (const SkippedItem& item : data.skipped())
    report.skipped_files.push_back(item.name + ": " + item.reason);
  report.warnings.insert(report.warnings.end(), data.notes().begin(), data.notes().end());
  return ranges;
}

void explain_float_build(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.decision.precision != Precision::f32) continue;
    node.decision = {Precision::f32, ReasonCode::float_build, "built without INT8"};
  }
}

// What turns Q/DQ into integer operators; without them the Q/DQ nodes compute as they stand.
std::vector<std::string> simulation_disables() {
  return {"hoist_quantize", "move_dequantize", "cancel_qdq",   "fuse_unary",
          "fuse_qdq",       "fuse_table",      "quantize_rows"};
}

}  // namespace

bool has_explicit_qdq(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return is_quantize(node) || is_dequantize(node) || node.op->domain == "octet";
  });
}

Model build_model(Graph graph, const CompileOptions& options, const RangeSource& ranges_of,
                  CompileReport& report) {
  Model model;
  const PassOptions passes{options.disabled_passes, options.stop_after_rewrites};
  report_stage(options, "optimize");
  run_passes(graph, float_passes(), passes, &report.passes);
  const bool is_explicit = has_explicit_qdq(graph);
  if (options.int8 && !is_explicit) {
    Ranges ranges = ranges_of(graph, model);
    report_stage(options, "quantize");
    assign_precision(graph, ranges, {options.keep_float});
    narrow_table_inputs(graph, ranges);
    correct_biases(graph, ranges);
    place_qdq(graph, ranges);
  } else if (options.int8 && options.calibration) {
    report.warnings.push_back(
        "the model carries Q/DQ nodes: its own scales are used and the calibration data is not");
  }
  PassOptions quantize = passes;
  if (options.simulate)
    std::ranges::copy(simulation_disables(), std::back_inserter(quantize.disabled));
  run_passes(graph, quantize_passes(), quantize, &report.passes);
  finish_decisions(graph);
  forget_size_numbers(graph);
  if (!options.int8 && !is_explicit) explain_float_build(graph);
  verify(graph);
  model.graph = std::move(graph);
  return model;
}

Engine compile(const std::filesystem::path& onnx_file, const CompileOptions& options,
               CompileReport* report) {
  CompileReport local;
  CompileReport& out = report != nullptr ? *report : local;
  try {
    return without_bad_alloc([&] {
      report_stage(options, "import");
      ImportInfo info;
      ImportOptions import;
      import.input_shapes = options.input_shapes;
      Graph graph = import_onnx(onnx_file, import, &info);
      out.warnings = info.warnings;
      const RangeSource calibrated = [&](const Graph& from, Model& into) {
        return calibrate(from, options, into, out);
      };
      Model model = build_model(std::move(graph), options, calibrated, out);
      model.source = onnx_file.filename().string();
      model.producer = info.producer;
      return Engine(std::make_shared<const Model>(std::move(model)));
    });
  } catch (Error& error) {
    error.add_context("compiling '" + onnx_file.string() + "'");
    throw;
  }
}

}  // namespace octet
