// SPDX-License-Identifier: Apache-2.0
// octet warm: a kernel cache for GPUs that are not here.
#include "octet/warm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/output/progress.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"

namespace octet::cli::warm_cli {
namespace {

constexpr CommandHelp kHelp{
    "warm", "Compile an engine's kernels for GPUs that are not here",
    "It needs CUDA's run-time compiler (pip install nvidia-cuda-nvrtc-cu12), no GPU and no driver. "
    "Where the engine\n"
    "runs, OCTET_KERNEL_CACHE names the folder, which may be read-only, and the compiler is of the "
    "same version.\n"
    "What is not in it is compiled as ever.\n\n"
    "Examples:\n"
    "  octet warm resnet50.octet --for h200 --batches 1,8,32 -o kernels/\n"
    "  OCTET_KERNEL_CACHE=kernels/ octet bench resnet50.octet --device cuda --batch 8\n"};

struct Options : EngineFlags {
  std::vector<std::string> gpus;
  std::vector<int64_t> batches;  // none given: 1
  std::vector<std::string> shapes;
  std::filesystem::path folder;
  std::filesystem::path tuning;
};

std::string names_of(const std::vector<KnownGpu>& gpus) {
  std::string names;
  for (const KnownGpu& gpu : gpus)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", gpu.name, gpu.arch);
  return names;
}

// "a100, ..., or all of sm80, ..., sm120"
std::string known_names() {
  std::string names;
  std::vector<std::string> generations;
  for (const KnownGpu& gpu : known_gpus()) {
    names += gpu.name + ", ";
    std::string generation = gpu.arch;
    std::erase_if(generation, [](char c) { return c == '_'; });
    if (generation.ends_with('a')) generation.pop_back();
    if (generations.empty() || generations.back() != generation) generations.push_back(generation);
  }
  return fmt::format("{}or all of {}", names, fmt::join(generations, ", "));
}

WarmReport warm(const Options& options) {
  const auto shapes = parse_shapes(options.shapes);
  const Engine engine = open_engine({options.engine, 1, options.model_flags, shapes});
  ProgressBar bar(options.json);
  WarmOptions asked;
  asked.gpus = options.gpus;
  asked.folder = options.folder;
  asked.tuning = read_tuning(options.tuning);
  asked.monitor.report = [&](const Progress& progress) {
    bar.update(progress);
    return true;
  };
  const bool given = !options.batches.empty();
  for (const int64_t batch : given ? options.batches : std::vector<int64_t>{1}) {
    std::vector<Shape> one = concrete_shapes(engine, shapes, batch);
    if (given) warn_of_fixed_batch(engine, one, batch, "--batches");
    // Where the batch is the model's own, all batches are one.
    if (asked.input_shapes.empty() || asked.input_shapes.back() != one)
      asked.input_shapes.push_back(std::move(one));
  }
  return warm_kernels(engine, asked);
}

void print_report(const Options& options, const WarmReport& report) {
  fmt::print("{}: {} kernels for {}, {} compiled, {} were there; by the compiler of CUDA {}\n",
             sanitize(options.folder.string()), report.kernels, names_of(report.gpus),
             report.compiled, report.kernels - report.compiled, report.compiler);
}

int run(Options options) {
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  const WarmReport report = warm(options);
  if (report.sizes_depend_on_data)
    print_warning(
        "sizes inside this model depend on its data: kernels behind them are compiled by the first "
        "run, and are not in this cache");
  if (!options.json) {
    print_report(options, report);
    return kDone;
  }
  auto gpus = nlohmann::ordered_json::array();
  for (const KnownGpu& gpu : report.gpus)
    gpus.push_back({{"name", gpu.name}, {"product", gpu.product}, {"arch", gpu.arch}});
  print_json({{"folder", options.folder.string()},
              {"gpus", gpus},
              {"kernels", report.kernels},
              {"compiled", report.compiled},
              {"compiler", report.compiler},
              {"sizes_depend_on_data", report.sizes_depend_on_data}});
  return kDone;
}

void add_flags(CLI::App& app, Options& options) {
  add_engine_argument(app, options.engine);
  app.add_option("--for", options.gpus, "chips: " + known_names())
      ->required()
      ->type_name("NAME[,...]")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--batches", options.batches, "sizes of a dynamic first dimension [1]")
      ->type_name("N[,...]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(from_to(int64_t{1}, int64_t{65536}));
  add_shape_flag(app, options.shapes);
  app.add_option("-o,--output", options.folder,
                 "folder of compiled kernels: made where it is missing, and what it has stays")
      ->required()
      ->type_name("DIR");
  add_tuning_flag(app, options.tuning);
  add_common_flags(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::warm_cli
