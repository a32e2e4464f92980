// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/build_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/output/float_layers.h"
#include "cli/output/messages.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/data_checks.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/input_summaries.h"
#include "cli/samples/output_errors.h"
#include "octet/json.h"
#include "octet/provenance.h"

namespace octet::cli {
namespace {

// Of inputs whose sizes the engine leaves open: what coverage and layers are told for.
void print_open_sizes(const Engine& engine) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  const std::vector<Shape> assumed = assumed_shapes(engine);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].type.shape;
    if (shape.is_static()) continue;
    fmt::print("  open sizes   {}: {}, looked at as {}\n", sanitize(inputs[i].name),
               to_string(shape), to_string(assumed[i]));
  }
}

nlohmann::ordered_json inputs_json(const Engine& engine) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  const std::vector<Shape> assumed = assumed_shapes(engine);
  auto list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    list.push_back({{"name", inputs[i].name},
                    {"type", to_string(inputs[i].type)},
                    {"assumed", to_string(assumed[i])}});
  }
  return list;
}

std::string whose_bytes(const Built& built) {
  const auto from = provenance(built.engine);
  const bool on_device = from && !from->device.empty();
  if (built.level == "none" && !on_device)
    return "the same on every machine: calibrated on the scalar reference";
  return fmt::format(
      "of this machine: calibrated on {}, and {} may round otherwise (--reproducible)",
      on_device ? sanitize(from->device) : "f32 kernels of level " + built.level,
      on_device ? "another device" : "those of another");
}

// What calibration saw, and what the engine remembers of preparing images.
void print_data(const Built& built) {
  const CompileReport& report = built.report;
  if (report.calibration_samples > 0) {
    fmt::print("  bytes        {}\n", whose_bytes(built));
    fmt::print("  calibration  {} samples{}, ranges by {}\n", report.calibration_samples,
               report.calibration_skipped > 0
                   ? fmt::format(", {} skipped", report.calibration_skipped)
                   : "",
               methods_of(report));
  }
  for (const OutputLoss& loss : report.output_losses) {
    fmt::print("  output       {}: SQNR {} against f32, on calibration samples\n",
               sanitize(loss.output), decibels(loss.sqnr_db));
  }
  for (const InputSummary& input : report.inputs)
    fmt::print("  input        {}: {}\n", sanitize(input.input), summary_text(input));
  if (const auto preprocess = built.engine.preprocess())
    fmt::print("  images       {}\n", sanitize(to_json(*preprocess)));
}

nlohmann::ordered_json output_losses_json(const CompileReport& report) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const OutputLoss& loss : report.output_losses)
    list.push_back({{"name", loss.output}, {"sqnr_db", sqnr_json(loss.sqnr_db)}});
  return list;
}

// That its types were chosen for; empty: they were named.
std::string target_of(const Engine& engine) {
  const std::optional<Provenance> from = provenance(engine);
  return from ? from->plan.target : std::string();
}

}  // namespace

void print_summary(const BuildOptions& options, const Built& built) {
  const std::string path = sanitize(options.output->path().string());
  if (!built.judged.written()) {
    fmt::print("{}: not written\n", path);
  } else if (options.output->is_standard()) {
    fmt::print("standard output: an engine, built in {}\n", human_seconds(built.seconds));
  } else {
    fmt::print("{}: {}, built in {}\n", path, human_bytes(file_bytes(options.output->path())),
               human_seconds(built.seconds));
  }
  fmt::print("  coverage     {}\n", coverage_line(built.inspection.coverage));
  fmt::print("  model        {} ({})\n", sanitize(with_known_names(options.model.string())),
             human_bytes(file_bytes(options.model)));
  if (const std::string target = target_of(built.engine); !target.empty())
    fmt::print("  fastest for  {}\n", sanitize(target));
  print_open_sizes(built.engine);
  print_data(built);
  if (built.found != nullptr) print_search(options.search, *built.found);
  print_missing_ranges(built.report, built.inspection);
  print_half_weights(built.report);
  constexpr size_t kShown = 12;
  if (options.compile.plan.int8)
    print_float_layers(built.inspection, kShown, "octet inspect shows all");
  print_nodes(built.inspection, false);
  if (options.report->given()) {
    fmt::print("  report       {}\n", sanitize(options.report->path().string()));
  }
}

void print_summary_json(const BuildOptions& options, const Built& built) {
  const CompileReport& report = built.report;
  nlohmann::ordered_json seen = nlohmann::ordered_json::array();
  for (const InputSummary& input : report.inputs) seen.push_back(summary_json(input));
  const auto preprocess = built.engine.preprocess();
  const nlohmann::ordered_json inspected = parsed(to_json(built.inspection));
  nlohmann::ordered_json passes = nlohmann::ordered_json::array();
  for (const PassTrace& pass : report.passes) {
    passes.push_back({{"pass", pass.pass},
                      {"rewrites", pass.rewrites},
                      {"time_ms", pass.milliseconds},
                      {"milliseconds", pass.milliseconds}});
  }
  const bool written = built.judged.written();
  const auto path = options.output->path();
  nlohmann::ordered_json object = {
      {"engine", written ? nlohmann::ordered_json(path.string()) : nullptr},
      {"bytes", written ? file_bytes(path) : 0},
      {"model_bytes", file_bytes(options.model)},
      {"seconds", built.seconds},
      {"coverage", parsed(to_json(built.inspection.coverage))},
      {"calibration",
       {{"samples", report.calibration_samples},
        {"method", methods_of(report)},
        {"level", report.calibration_samples > 0 ? nlohmann::ordered_json(built.level) : nullptr},
        {"skipped", report.calibration_skipped},
        {"prepared", report.handling ? handling_json(*report.handling) : nullptr},
        {"skipped_files", report.skipped_files},
        {"inputs", std::move(seen)},
        {"outputs", output_losses_json(report)}}},
      {"target", target_of(built.engine)},
      {"inputs", inputs_json(built.engine)},
      {"preprocess", preprocess ? parsed(to_json(*preprocess)) : nullptr},
      {"missing_ranges", missing_ranges_json(report, built.inspection)},
      {"half_weights", half_weights_json(report)},
      {"float_layers", float_layers_json(built.inspection)},
      {"constraints", inspected["constraints"]},
      {"nodes", inspected["nodes"]},
      {"warnings", report.warnings},
      {"passes", std::move(passes)}};
  if (built.found != nullptr) object["search"] = search_json(options.search, *built.found);
  add_thresholds(object, built.judged.thresholds);
  print_json(object);
}

void print_notes(const CompileReport& report) {
  for (const PassTrace& pass : report.passes) {
    detail(fmt::format("pass {}: {} rewrites, {}", pass.pass, pass.rewrites,
                       human_seconds(pass.milliseconds / 1e3)));
  }
  for (const std::string& warning : report.warnings) print_warning(warning);
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < report.skipped_files.size() && i < kShown; ++i) {
    print_warning("skipped " + report.skipped_files[i]);
  }
  if (report.skipped_files.size() > kShown) {
    print_warning(fmt::format("and {} more", report.skipped_files.size() - kShown));
  }
}

}  // namespace octet::cli
