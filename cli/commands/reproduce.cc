// SPDX-License-Identifier: Apache-2.0
// octet reproduce: a case of octet bundle, built and run again on this machine; says what differs.
#include "octet/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/flags/thresholds.h"
#include "cli/output/progress.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/output_errors.h"

namespace octet::cli::reproduce_cli {
namespace {

constexpr CommandHelp kHelp{
    "reproduce", "Build and run a case again, and say what differs",
    "The engine is built again where the case holds the model, and its cache if ranges came from "
    "data; else the\n"
    "case's own engine runs. The first difference may explain those below it. Program, chip, "
    "instruction set\n"
    "and kernels may differ; options, hashes, decisions and outputs are results, and exit code 1 "
    "says that one\n"
    "of them does. --min-sqnr allows values of outputs to differ so far: layers of real numbers "
    "do on other\n"
    "instruction sets.\n\n"
    "Examples:\n"
    "  octet reproduce case.zip\n"
    "  octet reproduce case.zip --model resnet20.onnx      # which the case leaves out\n"
    "  octet reproduce case.zip --engine mine.octet        # is mine the same?\n"
    "  OCTET_CPU_ISA=avx2 octet reproduce case.zip --min-sqnr 100\n"};

struct Options : EngineFlags {
  std::filesystem::path file;
  std::filesystem::path model;
  std::optional<double> min_sqnr;
};

std::string how_text(const Reproduction& result) {
  switch (result.how) {
    case Reproduction::How::nothing:
      return "none: the case holds none, and " + result.not_rebuilt;
    case Reproduction::How::given:
      return "the one that is given";
    case Reproduction::How::kept:
      return "the case's own, not built again: " + result.not_rebuilt;
    case Reproduction::How::rebuilt:
      break;
  }
  return "built again";
}

void print_differences(const Reproduction& result) {
  constexpr size_t kShown = 20;
  if (result.differences.empty()) {
    fmt::print("no difference\n");
    return;
  }
  fmt::print("\n");
  Table table({{"DIFFERENCE, first one first", false, 48},
               {"RECORDED", false, 60},
               {"HERE", false, 90},
               {"OF RESULTS"}});
  for (size_t i = 0; i < std::min(kShown, result.differences.size()); ++i) {
    const Difference& one = result.differences[i];
    table.add({one.what, one.recorded, one.here, one.changes_results ? "yes" : ""});
  }
  table.print();
  if (result.differences.size() > kShown)
    fmt::print("and {} more; --json lists all\n", result.differences.size() - kShown);
}

// Why results differ where what was asked for is the same; empty where that is not so.
std::string explanation(const Reproduction& result) {
  const auto differs = [&](std::string_view what) {
    return std::ranges::any_of(result.differences, [&](const Difference& one) {
      return one.what == what || (what.ends_with('.') && one.what.starts_with(what));
    });
  };
  if (!differs("ranges_hash")) return {};
  for (const char* input : {"options.", "preprocess", "model_hash", "data_hash", "cache_hash",
                            "methods", "samples", "ranges"}) {
    if (differs(input)) return {};
  }
  return "the same model, data and options gave other ranges: f32 kernels of another instruction "
         "set or oneDNN computed what calibration saw, or one of them is of octet build "
         "--reproducible, which gives the same bytes on every machine (docs/calibration.md)";
}

void print_result(const Case& from, const Reproduction& result) {
  const auto line = [](std::string_view title, const std::string& text) {
    fmt::print("{:<10} {}\n", title, sanitize(text));
  };
  line("recorded",
       fmt::format("octet {} on {} ({})", from.version, from.device.chip, from.device.level));
  for (const std::string& command : from.commands) line("command", command);
  line("engine", how_text(result) + (result.same_engine ? ", equal to the byte" : ""));
  if (result.runs > 0) {
    line("runs", fmt::format("{}; {} of {} outputs equal to the bit, SQNR {}", result.runs,
                             result.equal_outputs, result.outputs, decibels(result.sqnr_db)));
  }
  print_differences(result);
  if (const std::string why = explanation(result); !why.empty()) fmt::print("{}\n", why);
}

void print_result_json(const Reproduction& result, const std::vector<Threshold>& judged) {
  auto differences = nlohmann::ordered_json::array();
  for (const Difference& one : result.differences) {
    differences.push_back({{"what", one.what},
                           {"recorded", one.recorded},
                           {"here", one.here},
                           {"changes_results", one.changes_results}});
  }
  nlohmann::ordered_json object = {
      {"engine", to_string(result.how)},
      {"not_rebuilt", result.not_rebuilt},
      {"same_engine", result.same_engine},
      {"runs", result.runs},
      {"outputs", result.outputs},
      {"equal_outputs", result.equal_outputs},
      {"sqnr_db", result.runs > 0 ? sqnr_json(result.sqnr_db) : nlohmann::ordered_json(nullptr)},
      {"differences", std::move(differences)},
      {"explanation", explanation(result)}};
  add_thresholds(object, judged);
  print_json(object);
}

std::vector<Threshold> judge(const Options& options, const Reproduction& result) {
  const auto counts = [&](const Difference& one) {
    return one.changes_results && !(one.measured && options.min_sqnr);
  };
  const auto count = std::ranges::count_if(result.differences, counts);
  std::vector<Threshold> judged = {
      at_most("differences", "the number of results that differ", static_cast<double>(count), 0)};
  if (options.min_sqnr)
    judged.push_back(at_least("min_sqnr", "SQNR in dB", result.sqnr_db, *options.min_sqnr));
  return judged;
}

Reproduction reproduced(const Options& options, const Case& from) {
  ReproduceOptions with;
  with.model = options.model;
  with.threads = options.threads;
  if (!options.engine.empty())
    with.engine = open_engine({options.engine, options.threads, options.model_flags});
  ProgressBar progress(options.json);
  with.monitor.report = [&](const Progress& now) {
    progress.update(now);
    return true;
  };
  return reproduce(from, with);
}

int run(Options options) {
  options.file = readable(options.file);
  put_in_force(options.limits, options.file);
  const Case from = load_case(options.file);
  const Reproduction result = reproduced(options, from);
  if (options.min_sqnr && result.runs == 0) {
    fail(Error::Code::invalid_argument, "--min-sqnr: no outputs were compared; {}",
         from.runs.empty() ? "the case holds no runs" : how_text(result));
  }
  const std::vector<Threshold> judged = judge(options, result);
  if (options.json) {
    print_result_json(result, judged);
  } else {
    print_result(from, result);
  }
  return exit_code(judged);
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("case", options.file, "what octet bundle wrote")
      ->required()
      ->type_name("CASE.zip");
  CLI::Option* model =
      app.add_option("--model", options.model, "the model, where the case leaves it out")
          ->type_name("MODEL.onnx");
  app.add_option("--engine", options.engine, "compare this engine with the case")
      ->type_name("ENGINE|MODEL.onnx")
      ->excludes(model);
  app.add_option("--min-sqnr", options.min_sqnr,
                 "outputs may differ: exit code 1 when their SQNR is below")
      ->type_name("DB")
      ->check(any_number());
  add_threads_flag(app, options.threads);
  add_common_flags(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::reproduce_cli
