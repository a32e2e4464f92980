// SPDX-License-Identifier: Apache-2.0
// THE SPINE: compile() calls every stage in order. Read this first.
#include "core/memory.h"
#include "octet/compile.h"
#include "onnx/import.h"
#include "pipeline/float_model.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

void tell(const CompileOptions& options, std::string stage) {
  if (options.progress) options.progress({std::move(stage), 0, 0});
}

FloatModel import(const std::filesystem::path& onnx_file, const CompileOptions& options,
                  CompileReport& report) {
  tell(options, "import");
  ImportInfo info;
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  Graph graph = import_onnx(onnx_file, import, &info);
  report.warnings = info.warnings;
  tell(options, "optimize");
  FloatModel model = optimize(std::move(graph), options.plan.rewrites);
  model.source = onnx_file.filename().string();
  model.producer = info.producer;
  return model;
}

FloatModel calibrated(const FloatModel& model, const CompileOptions& options,
                      CompileReport& report) {
  if (!options.plan.int8 || !options.calibration) return model;
  if (model.carries_qdq) {
    report.warnings.push_back(
        "the model carries Q/DQ nodes: its own scales are used and the calibration data is not");
    return model;
  }
  FloatModel result = calibrate(model, *options.calibration, {options.threads, options.progress});
  const Calibration& seen = *result.calibration;
  report.calibration_samples = seen.samples;
  report.calibration_skipped = static_cast<s64>(seen.skipped.size());
  report.skipped_files = seen.skipped;
  report.warnings.insert(report.warnings.end(), seen.notes.begin(), seen.notes.end());
  return result;
}

}  // namespace

Engine compile(const std::filesystem::path& onnx_file, const CompileOptions& options,
               CompileReport* report) {
  CompileReport local;
  CompileReport& out = report != nullptr ? *report : local;
  try {
    return without_bad_alloc([&] {
      const FloatModel imported = import(onnx_file, options, out);
      const FloatModel model = calibrated(imported, options, out);
      tell(options, "quantize");
      return Inside::engine(std::make_shared<const Model>(quantize(model, options.plan, &out)));
    });
  } catch (Error& error) {
    error.add_context("compiling '" + onnx_file.string() + "'");
    throw;
  }
}

}  // namespace octet
