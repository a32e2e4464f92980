// SPDX-License-Identifier: Apache-2.0
// THE SPINE: compile() calls every stage in order. Read this first.
#include <fmt/format.h>

#include <functional>

#include "core/memory.h"
#include "core/monitor.h"
#include "data/preprocess.h"
#include "octet/compile.h"
#include "onnx/import.h"
#include "passes/check_declared.h"
#include "pipeline/choose_ranges.h"
#include "pipeline/float_model.h"
#include "pipeline/half_weights.h"
#include "precision/constraints.h"
#include "precision/precision.h"
#include "preprocess/preprocess_text.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

// Reads the model, wherever it is.
using Import = std::function<Graph(const ImportOptions&, ImportInfo*)>;

FloatModel import(const Import& read, const CompileOptions& options, CompileReport& report) {
  report_progress(options.monitor, "import");
  ImportInfo info;
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  import.external_data_root = options.weights_root;
  Graph graph = read(import, &info);
  report.warnings = info.warnings;
  check_declared(graph, info.declared, options.input_shapes.empty());
  FloatModel model = optimize(std::move(graph), options.plan.rewrites, options.monitor);
  model.producer = info.producer;
  model.hash = info.hash;
  model.input_shapes = options.input_shapes;
  report.warnings.insert(report.warnings.end(), model.notes.begin(), model.notes.end());
  return model;
}

// What the caller says of images, for builds that see no data: made to fit an input that images can feed.
std::optional<Preprocess> told_preprocess(const CompileOptions& options, const Graph& graph) {
  std::optional<Preprocess> given = options.preprocess;
  if (!given && options.calibration) given = options.calibration->preprocess;
  if (!given) return std::nullopt;
  check_preprocess(*given, "preprocessing");
  const bool reads = options.plan.int8 && options.calibration && reads_data(*options.calibration);
  const bool images = !reads && graph.inputs.size() == 1 &&
                      image_channel_axis(graph.value(graph.inputs[0]).type.shape) >= 0;
  if (!images) return given;
  const Value& input = graph.value(graph.inputs[0]);
  return resolve_preprocess(given, input.type, input.name);
}

FloatModel calibrated(const FloatModel& model, const CompileOptions& options,
                      CompileReport& report) {
  if (!options.plan.int8 || !options.calibration) return model;
  if (model.carries_qdq) {
    report.warnings.push_back(
        "the model carries Q/DQ nodes: its own scales are used and the calibration data is not");
    return model;
  }
  FloatModel result = calibrate(model, *options.calibration, {options.threads, options.monitor});
  const Calibration& seen = *result.calibration;
  report.calibration_samples = seen.samples;
  report.calibration_skipped = static_cast<s64>(seen.skipped.size());
  report.skipped_files = seen.skipped;
  report.inputs = seen.inputs;
  report.warnings.insert(report.warnings.end(), seen.notes.begin(), seen.notes.end());
  if (options.calibration->make_cache && seen.own_ranges != nullptr)
    report.cache = std::make_shared<const CalibrationCache>(make_cache(result));
  return result;
}

// Before the long work: what is asked of nodes that are not there, or cannot be had.
void check_names(const FloatModel& model, const PrecisionPlan& plan, CompileReport& report) {
  if (!model.carries_qdq) check_kept_names(*model.graph, plan.keep_float);
  const Requests requests = requests_of(*model.graph, plan, model.carries_qdq);
  if (plan.constraint_mode != ConstraintMode::obey) return;
  if (plan.constraints.empty()) {
    report.warnings.emplace_back(
        "constraints are to be obeyed, and none is given: obeying binds only layers whose type is "
        "asked for");
  }
  if (requests.nodes.empty() || model.carries_qdq || !plan.int8) return;
  check_obeyable(*model.graph, *with_assumed_ranges(model).ranges, plan, requests);
}

// Weights that f16 does not hold: told of, measured where there are data, and remedied where that is asked for.
FloatModel fitted_to_halves(const FloatModel& model, const CompileOptions& options,
                            CompileReport& report) {
  const PrecisionPlan& plan = options.plan;
  const Requests requests = requests_of(*model.graph, plan, model.carries_qdq);
  const std::vector<size_t> layers = f16_layers(*model.graph, plan, requests);
  std::vector<HalfWeights> found = examine_halves(*model.graph, layers);
  if (found.empty()) return model;
  if (options.calibration && !options.calibration->data.empty())
    measure_halves(*model.graph, *options.calibration, {options.threads, options.monitor}, found);
  FloatModel fitted = model;
  if (plan.fix_subnormals)
    fitted.graph = std::make_shared<const Graph>(rescaled_for_halves(*model.graph, layers));
  if (plan.fix_subnormals || plan.bf16) {
    std::vector<HalfWeights> rest = examine_halves(*fitted.graph, layers);
    fitted.instead_of_f16 = std::make_shared<const std::unordered_map<std::string, Decision>>(
        types_instead(*fitted.graph, requests, rest));
    note_remedies(rest, found);
  }
  const std::vector<std::string> lines = affected_lines(found);
  report.warnings.insert(report.warnings.end(), lines.begin(), lines.end());
  report.half_weights = std::move(found);
  return fitted;
}

// What an engine says that it was made from. A descriptor's number is an accident: the same model gives the same engine.
std::string model_name(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  return folder == "/proc/self/fd" || folder == "/dev/fd" ? "" : file.filename().string();
}

Engine compile_model(const Import& read, const std::string& source, const CompileOptions& options,
                     CompileReport* report) {
  CompileReport local;
  CompileReport& out = report != nullptr ? *report : local;
  FloatModel imported = import(read, options, out);
  imported.source = source;
  imported.preprocess = told_preprocess(options, *imported.graph);
  check_names(imported, options.plan, out);
  const FloatModel model = calibrated(fitted_to_halves(imported, options, out), options, out);
  return Inside::engine(
      std::make_shared<const Model>(quantize(model, options.plan, &out, options.monitor)));
}

}  // namespace

Engine compile(const std::filesystem::path& onnx_file, const CompileOptions& options,
               CompileReport* report) {
  const Import read = [&](const ImportOptions& import, ImportInfo* info) {
    return import_onnx(onnx_file, import, info);
  };
  try {
    return without_bad_alloc(
        [&] { return compile_model(read, model_name(onnx_file), options, report); });
  } catch (Error& error) {
    error.add_context("compiling '" + onnx_file.string() + "'");
    throw;
  }
}

Engine compile(std::span<const std::byte> onnx_model, const CompileOptions& options,
               CompileReport* report) {
  const Import read = [&](ImportOptions import, ImportInfo* info) {
    import.external_data_folder = options.weights_folder;
    return import_onnx(onnx_model, import, info);
  };
  try {
    return without_bad_alloc([&] { return compile_model(read, "", options, report); });
  } catch (Error& error) {
    error.add_context(fmt::format("compiling a model of {} bytes from memory", onnx_model.size()));
    throw;
  }
}

}  // namespace octet
