// SPDX-License-Identifier: Apache-2.0
// octet report: one model in FP32, FP16, BF16 and INT8, side by side in one table, and as a page.
#include "octet/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/command.h"
#include "cli/commands/build_report.h"
#include "cli/commands/stages.h"
#include "cli/fail.h"
#include "cli/flags/calibration_flags.h"
#include "cli/flags/choice.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/output/outputs.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "octet/json.h"

namespace octet::cli::report_cli {
namespace {

constexpr CommandHelp kHelp{
    "report", "Build a model in FP32, FP16, BF16 and INT8, and compare them in one table",
    "Builds the model in FP32, FP16, BF16 and INT8 and judges each on the same data: top-1 where "
    "there are\n"
    "labels, agreement with FP32, SQNR of all outputs, median latency of one run, size of the "
    "engine, coverage,\n"
    "and the time to build it. Without --data the calibration data judge. The page shows the INT8 "
    "engine (FP32\n"
    "where there is none): its graph, every layer with time and error, and what to do next.\n\n"
    "Examples:\n"
    "  octet report resnet20.onnx --calib train/ --data test/ --report resnet20.html\n"
    "  octet report vit.onnx --calib calib.npz:images --data test.npz --json\n"};

struct Options {
  StageFlags stages;
  CalibrationFlags calibration;
  std::filesystem::path data;
  LabelRule labels = LabelRule::folder;
  std::vector<std::string> shapes;
  Outputs outputs;
  Output* report = nullptr;
  LimitFlags limits;
  bool json = false;
};

std::string share_text(const std::optional<double>& share) { return share ? percent(*share) : "-"; }

std::string sqnr_text(const std::optional<double>& sqnr) { return sqnr ? decibels(*sqnr) : "-"; }

void print_rows(const std::vector<StageRow>& rows) {
  Table table({{"TYPE"},
               {"TOP-1", true},
               {"AGREES", true},
               {"SQNR", true},
               {"LATENCY", true},
               {"SIZE", true},
               {"INT8 OF MULTIPLICATIONS", true},
               {"OF TIME", true},
               {"BUILD", true}});
  for (const StageRow& row : rows) {
    if (!row.missing.empty()) continue;
    table.add({row.name, share_text(row.top1), share_text(row.agreement), sqnr_text(row.sqnr_db),
               fmt::format("{:.3f} ms", row.latency_ms),
               human_bytes(static_cast<uint64_t>(row.bytes)),
               row.coverage.macs > 0 ? percent(row.coverage.mac_share()) : "-",
               row.coverage.us > 0 ? percent(row.coverage.time_share()) : "-",
               human_seconds(row.build_seconds)});
  }
  table.print();
  for (const StageRow& row : rows) {
    if (!row.missing.empty()) fmt::print("{} is missing: {}\n", row.name, sanitize(row.missing));
  }
}

nlohmann::ordered_json row_json(const StageRow& row) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  if (!row.missing.empty()) return {{"type", row.name}, {"missing", row.missing}};
  return {{"type", row.name},
          {"samples", row.samples},
          {"top1", optional(row.top1)},
          {"agreement", optional(row.agreement)},
          {"sqnr_db", row.sqnr_db ? sqnr_json(*row.sqnr_db) : nullptr},
          {"latency_ms", row.latency_ms},
          {"bytes", row.bytes},
          {"coverage", parsed(to_json(row.coverage))},
          {"build_seconds", row.build_seconds}};
}

StageFlags stage_flags(Options& options) {
  StageFlags flags = options.stages;
  flags.compile.input_shapes = parse_shapes(options.shapes);
  flags.compile.calibration = calibration_options(options.calibration);
  DataFlags data = options.calibration.data;
  if (!options.data.empty()) data.data = options.data;
  flags.data = data_options(data);
  // Before the model is read and calibrated; what is in it is looked at as soon as the inputs are known.
  if (!flags.data.data.empty() && !std::filesystem::exists(flags.data.data))
    fail(Error::Code::io, "'{}' does not exist; --data names samples to judge by",
         flags.data.data.string());
  flags.data.labels = options.labels;
  return flags;
}

// Of all stages, each line naming its own.
std::vector<std::string> not_finite_lines(const std::vector<Stage>& stages) {
  std::vector<std::string> lines;
  for (const Stage& stage : stages)
    std::ranges::copy(stage.nan.warnings, std::back_inserter(lines));
  return lines;
}

// Of the last stage that there is, with the errors of its layers.
void write_page(const Options& options, const StageFlags& flags, const SourceModel& source,
                const std::vector<Stage>& stages, ProgressBar& progress) {
  const Stage* shown = &stages[0];
  for (const Stage& stage : stages) {
    if (stage.missing.empty()) shown = &stage;
  }
  const std::vector<StageRow> rows = stage_rows(stages);
  const std::vector<std::string> not_finite = not_finite_lines(stages);
  write_build_report({*options.report, flags.model, source, *shown->engine, flags.compile,
                      shown->report, shown->inspection, rows, shown->outputs, not_finite},
                     progress);
}

int run(Options& options) {
  options.stages.model = readable(options.stages.model);
  put_in_force(options.limits, options.stages.model);
  const StageFlags flags = stage_flags(options);
  ProgressBar progress(options.json);
  const SourceModel source = stage_source(flags, progress);
  const std::vector<Stage> stages = run_stages(source, flags, progress);
  for (const Stage& stage : stages) save_cache(options.calibration, stage.report);
  if (options.report->given()) write_page(options, flags, source, stages, progress);
  if (const auto doubt = stages[0].counts->doubt()) print_warning(*doubt);
  for (const std::string& line : not_finite_lines(stages)) print_warning(line);
  const std::vector<StageRow> rows = stage_rows(stages);
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (size_t i = 0; i < rows.size(); ++i) {
      list.push_back(row_json(rows[i]));
      list.back()["not_finite"] = stages[i].nan.json;
    }
    print_json({{"model", flags.model.string()},
                {"data", flags.data.data.string()},
                {"threads", flags.compile.threads},
                {"stages", std::move(list)}});
    return kDone;
  }
  print_rows(rows);
  if (options.report->given()) fmt::print("page: {}\n", sanitize(options.report->path().string()));
  return kDone;
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("model", options.stages.model, "ONNX model")->required()->type_name("MODEL.onnx");
  add_calibration_flags(app, options.outputs, options.calibration);
  app.add_option("--data", options.data, "samples to judge by [those of --calib]")
      ->type_name("DIR|FILE");
  add_choice<LabelRule>(app, "--labels", options.labels,
                        {{"folder", LabelRule::folder}, {"prefix", LabelRule::prefix}},
                        "where labels come from");
  app.add_option("--label-offset", options.stages.label_offset, "added to each label")
      ->type_name("N");
  app.add_option("--scores", options.stages.scores,
                 "the output that holds the scores of classes, where there are others")
      ->type_name("NAME");
  app.add_option("--seconds", options.stages.seconds, "time each type for S seconds [1]")
      ->type_name("S")
      ->check(from_to(0.001, 3600.0));
  options.report = &options.outputs.add_flag(
      app, {"--report", "FILE.html", OutputKind::report, "write one self-contained HTML page"});
  add_shape_flag(app, options.shapes);
  add_threads_flag(app, options.stages.compile.threads);
  add_last_flags(app, options.stages.compile.weights_root, options.limits, options.json);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::report_cli
