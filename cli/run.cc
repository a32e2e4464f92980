// SPDX-License-Identifier: Apache-2.0
// octet run: images or arrays through an engine; top classes on the terminal, or all outputs into an .npz.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/class_scores.h"
#include "cli/command.h"
#include "cli/data_flags.h"
#include "cli/engine_flags.h"
#include "cli/outputs.h"
#include "cli/run_arrays.h"
#include "cli/run_inputs.h"
#include "cli/terminal.h"
#include "octet/engine.h"
#include "octet/error_stats.h"
#include "octet/inspect.h"

namespace octet::cli {
namespace {

constexpr const char* kFooter =
    "Images go through the preprocessing that the engine remembers; flags override it. Arrays are "
    "the engine's\n"
    "inputs by name, or the only one, and are used as they are unless flags prepare them. Every "
    "file, and every\n"
    "row of an array with one sample a row, gives a result. -o writes every output by its name, "
    "all results in order.\n\n"
    "Examples:\n"
    "  octet run resnet20.octet cat.jpg\n"
    "  octet run mobilenet.octet a.jpg b.jpg --top 3 --labels synsets.txt\n"
    "  octet run mobilenet.octet photos/ --labels synsets.txt --label-offset 1\n"
    "  octet run yolo.octet inputs.npz -o outputs.npz\n"
    "  octet run resnet20.octet cat.jpg --json | jq '.results[0].outputs[0].top[0].index'\n";

struct Options {
  std::filesystem::path engine;
  std::vector<std::filesystem::path> inputs;
  Outputs outputs;
  Output* output = nullptr;
  std::filesystem::path labels;
  int64_t label_offset = 0;
  int64_t top = 5;
  PreprocessFlags preprocess;
  int threads = 1;
  std::string device = "cpu";
  std::filesystem::path tuning;
  LimitFlags limits;
  bool json = false;
};

void print_output(const Options& options, const ClassNames& names, const TensorInfo& info,
                  const Tensor& tensor) {
  fmt::print("  {}: {}\n", sanitize(info.name), to_string(tensor.type()));
  if (is_class_scores(tensor.type())) {
    for (const Ranked& entry : top_of(tensor, options.top)) {
      fmt::print("  {:>6}  {:>12.6g}  {}\n", entry.index, entry.value,
                 sanitize(names.name(entry.index, tensor.elements())));
    }
    return;
  }
  const std::vector<float> values = to_floats(tensor);
  if (values.empty()) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  fmt::print("    from {:.6g} to {:.6g}, mean {:.6g}\n", *low, *high, mean);
}

nlohmann::ordered_json output_json(const Options& options, const ClassNames& names,
                                   const TensorInfo& info, const Tensor& tensor) {
  nlohmann::ordered_json object = {{"name", info.name}, {"type", to_string(tensor.type())}};
  if (!is_class_scores(tensor.type())) return object;
  nlohmann::ordered_json top = nlohmann::ordered_json::array();
  for (const Ranked& entry : top_of(tensor, options.top)) {
    top.push_back({{"index", entry.index}, {"value", entry.value}});
    if (names.given()) top.back()["label"] = names.name(entry.index, tensor.elements());
  }
  object["top"] = std::move(top);
  return object;
}

// The shape of the run that a result came from.
void warn_of_stale(const Options& options, const Engine& engine, const RunResult& result,
                   std::shared_ptr<const Tuning> tuning) {
  InspectOptions planned{{}, options.threads, std::move(tuning), options.device};
  const std::vector<TensorInfo> infos = engine.inputs();
  for (size_t i = 0; i < infos.size(); ++i) {
    Shape shape = result.inputs[i].shape();
    const Shape& declared = infos[i].type.shape;
    if (declared.rank() > 0 && declared[0] != Shape::kDynamic) shape[0] = declared[0];
    planned.input_shapes.push_back(shape);
  }
  warn_of_stale_choices(inspect(engine, planned).layers, options.tuning);
}

int run(const Options& options) {
  put_in_force(options.limits, options.engine);
  const Engine engine = Engine::load(options.engine);
  const ClassNames names =
      options.labels.empty() ? ClassNames() : ClassNames(options.labels, options.label_offset);
  const std::vector<TensorInfo> infos = engine.outputs();
  const auto tuning = read_tuning(options.tuning);
  Context context = engine.make_context({options.threads, tuning, options.device});
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  RunArrays arrays(infos);
  const auto each = [&](const RunResult& result) {
    if (tuning != nullptr && results.empty()) warn_of_stale(options, engine, result, tuning);
    names.check(infos, result.outputs);
    if (!options.json) fmt::print("{}\n", sanitize(result.name));
    nlohmann::ordered_json shown = nlohmann::ordered_json::array();
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      if (!options.json) print_output(options, names, infos[i], result.outputs[i]);
      if (options.json) shown.push_back(output_json(options, names, infos[i], result.outputs[i]));
    }
    results.push_back({{"input", result.name}, {"outputs", std::move(shown)}});
    if (options.output->given()) arrays.add(result.outputs);
  };
  const bool prepares = any_given(options.preprocess);
  DataOptions data;
  const Resolved resolved = resolve(options.preprocess, engine.preprocess());
  data.preprocess = resolved.preprocess;
  run_all(engine, context, {options.inputs, data, prepares}, each);
  if (options.output->given()) write(*options.output, arrays.joined());
  if (options.json) print_json({{"results", std::move(results)}});
  return kDone;
}

}  // namespace

Command add_run(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("run", "Run images or arrays through an engine");
  app->footer(kFooter);
  app->add_option("engine", options->engine, "engine file")->required()->type_name("ENGINE");
  app->add_option("inputs", options->inputs, "images, .npz or .npy files, or folders of them")
      ->required()
      ->type_name("FILE...");
  options->output = &options->outputs.add_flag(
      *app, {"-o,--output", "FILE.npz", OutputKind::arrays, "write all outputs to this .npz"});
  app->add_option("--top", options->top, "show so many classes")
      ->type_name("K")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  app->add_option("--labels", options->labels, "text file with one class name a line")
      ->type_name("FILE");
  app->add_option("--label-offset", options->label_offset,
                  "class of the first name: 1 for models with a background class")
      ->type_name("N");
  add_preprocess_flags(*app, options->preprocess);
  add_threads_flag(*app, options->threads);
  add_device_flag(*app, options->device);
  add_tuning_flag(*app, options->tuning);
  add_limit_flags(*app, options->limits);
  add_json_flag(*app, options->json);
  return {app, [options] { return run(*options); }, &options->outputs};
}

}  // namespace octet::cli
