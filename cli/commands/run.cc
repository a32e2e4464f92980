// SPDX-License-Identifier: Apache-2.0
// octet run: images or arrays through an engine; top classes on the terminal, or all outputs into an .npz.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "cli/command.h"
#include "cli/commands/run_inputs.h"
#include "cli/fail.h"
#include "cli/flags/data_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/output/outputs.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/class_scores.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/nan_watch.h"
#include "octet/engine.h"
#include "octet/error_stats.h"
#include "octet/inspect.h"
#include "octet/saved_outputs.h"

namespace octet::cli::run_cli {
namespace {

constexpr CommandHelp kHelp{
    "run", "Run images or arrays through an engine",
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
    "  octet run yolo.octet - -o - <inputs.npz >outputs.npz\n"
    "  octet run resnet20.onnx --random 3 --json             # the model itself, without data\n"
    "  octet run resnet20.octet cat.jpg --json | jq '.results[0].outputs[0].top[0].index'\n"};

struct Options : EngineFlags {
  std::vector<std::filesystem::path> inputs;
  Outputs outputs;
  Output* output = nullptr;
  bool layers = false;
  std::filesystem::path labels;
  int64_t label_offset = 0;
  int64_t top = 5;
  PreprocessFlags preprocess;
  SequenceFlags sequences;
  std::string device = "cpu";
  std::filesystem::path tuning;
  int64_t random = 0;
  uint64_t seed = 0;
  int64_t batch = 1;
  std::vector<std::string> shapes;
  bool mmap = false;
};

using Json = nlohmann::ordered_json;

void print_top(const Options& options, const ClassNames& names, const Tensor& scores) {
  for (const Ranked& entry : top_of(scores, options.top)) {
    fmt::print("  {:>6}  {:>12.6g}  {}\n", entry.index, entry.value,
               sanitize(names.name(entry.index, scores.elements())));
  }
}

void print_output(const Options& options, const ClassNames& names, const TensorInfo& info,
                  const Tensor& tensor, int64_t rows) {
  fmt::print("  {}: {}\n", sanitize(info.name), to_string(tensor.type()));
  const std::vector<Tensor> scores = score_rows(tensor, rows);
  for (size_t row = 0; row < scores.size(); ++row) {
    if (scores.size() > 1) fmt::print("  row {}\n", row);
    print_top(options, names, scores[row]);
  }
  if (!scores.empty()) return;
  const std::vector<float> values = to_floats(tensor);
  if (values.empty()) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  fmt::print("    from {:.6g} to {:.6g}, mean {:.6g}\n", *low, *high, mean);
}

Json top_json(const Options& options, const ClassNames& names, const Tensor& scores) {
  Json top = Json::array();
  for (const Ranked& entry : top_of(scores, options.top)) {
    top.push_back({{"index", entry.index}, {"value", entry.value}});
    if (names.given()) top.back()["label"] = names.name(entry.index, scores.elements());
  }
  return top;
}

// "top" of a sample; of several samples that could not be cut apart, "rows" with the top of each.
Json output_json(const Options& options, const ClassNames& names, const TensorInfo& info,
                 const Tensor& tensor, int64_t rows) {
  Json object = {{"name", info.name}, {"type", to_string(tensor.type())}};
  const std::vector<Tensor> scores = score_rows(tensor, rows);
  if (scores.size() == 1) object["top"] = top_json(options, names, scores[0]);
  if (scores.size() < 2) return object;
  object["rows"] = Json::array();
  for (const Tensor& row : scores)
    object["rows"].push_back({{"top", top_json(options, names, row)}});
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

// Prints each result, or keeps it for the JSON and the file.
class Results {
 public:
  // Of the engine's outputs the first `shown` are; all go into the file.
  Results(const Options& options, const Engine& engine, std::shared_ptr<const Tuning> tuning,
          size_t shown, NanWatch& watch)
      : watch_(watch),
        shown_(shown),
        options_(options),
        engine_(engine),
        tuning_(std::move(tuning)),
        infos_(engine.outputs()),
        names_(options.labels.empty() ? ClassNames()
                                      : ClassNames(options.labels, options.label_offset)),
        arrays_(tensor_names(infos_), OutputArrays::Join::any_rows) {}

  void add(RunResult result) {
    if (tuning_ != nullptr && results_.empty()) warn_of_stale(options_, engine_, result, tuning_);
    result.name = with_known_names(std::move(result.name));
    const bool traced = watch_.look_at(result.name, result.inputs, result.outputs);
    names_.check(infos_, result.outputs, result.rows);
    if (!options_.json) fmt::print("{}\n", sanitize(result.name));
    Json shown = Json::array();
    for (size_t i = 0; i < std::min(shown_, result.outputs.size()); ++i) {
      const Tensor& output = result.outputs[i];
      if (!options_.json) print_output(options_, names_, infos_[i], output, result.rows);
      if (options_.json)
        shown.push_back(output_json(options_, names_, infos_[i], output, result.rows));
    }
    results_.push_back({{"input", result.name}, {"outputs", std::move(shown)}});
    const NanReport nan = traced ? watch_.report() : NanReport();
    results_.back()["not_finite"] = nan.json;
    for (const std::string& warning : nan.warnings) print_warning(warning);
    if (options_.output->given()) arrays_.add(result.outputs);
  }

  void finish(const DataChecks& checks) {
    if (options_.output->given()) write(*options_.output, arrays_.arrays());
    const std::vector<std::string> warnings = checks.warnings();
    for (const std::string& warning : warnings) print_warning(warning);
    if (!options_.json) return;
    Json object = {{"results", std::move(results_)}, {"warnings", warnings}};
    add_checks(checks, object);
    print_json(object);
  }

 private:
  NanWatch& watch_;
  const size_t shown_;
  const Options& options_;
  const Engine& engine_;
  std::shared_ptr<const Tuning> tuning_;
  std::vector<TensorInfo> infos_;
  ClassNames names_;
  OutputArrays arrays_;
  Json results_ = Json::array();
};

// What is to be run.
RunInputs inputs_of(const Options& options, const Engine& engine) {
  if (options.inputs.empty() == (options.random == 0)) {
    fail(Error::Code::invalid_argument,
         "nothing to run, or two things; give images or arrays, or --random");
  }
  RunInputs inputs;
  for (const std::filesystem::path& file : options.inputs) inputs.files.push_back(readable(file));
  Resolved resolved = resolve(options.preprocess, engine.preprocess());
  inputs.options.preprocess = std::move(resolved.preprocess);
  inputs.options.preprocess_from = std::move(resolved.from);
  apply(options.sequences, inputs.options);
  inputs.prepare_arrays = any_given(options.preprocess);
  inputs.random = {options.random, options.seed, {}};
  if (options.random > 0) {
    inputs.random.shapes = concrete_shapes(engine, parse_shapes(options.shapes), options.batch);
    if (options.batch != 1) warn_of_fixed_batch(engine, inputs.random.shapes, options.batch);
  }
  return inputs;
}

int run(Options options) {
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  if (options.layers && !options.output->given())
    fail(Error::Code::invalid_argument, "--layers writes what layers give; name the file with -o");
  const Engine opened =
      open_engine({options.engine, options.threads, options.model_flags, {}, options.mmap});
  const Engine engine = options.layers ? with_inner_values(opened) : opened;
  const auto tuning = read_tuning(options.tuning);
  NanWatch watch(opened, {options.threads, options.device});
  Results results(options, engine, tuning, opened.outputs().size(), watch);
  const RunInputs inputs = inputs_of(options, engine);
  Context context = engine.make_context({options.threads, tuning, options.device});
  const DataChecks checks =
      run_all(engine, context, inputs, [&](RunResult result) { results.add(std::move(result)); });
  results.finish(checks);
  return kDone;
}

void add_random_flags(CLI::App& app, Options& options) {
  app.add_option("--random", options.random,
                 "run N times on random numbers instead of files: reals of 0 to 1, any codes of 8 "
                 "bits, wider integers all 0")
      ->type_name("N")
      ->check(from_to(int64_t{1}, int64_t{1000000}));
  app.add_option("--seed", options.seed, "seed of the first of these runs; each run adds 1")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "size of a dynamic first dimension of random inputs")
      ->type_name("N")
      ->capture_default_str()
      ->check(from_to(int64_t{1}, int64_t{65536}));
  add_shape_flag(app, options.shapes);
  for (const char* flag : {"--seed", "--batch", "--shape"})
    app.get_option(flag)->needs(app.get_option("--random"));
}

void add_flags(CLI::App& app, Options& options) {
  add_engine_argument(app, options.engine);
  app.add_option("inputs", options.inputs,
                 "images, .npz or .npy files, or folders of them; - is standard input")
      ->type_name("FILE...");
  add_random_flags(app, options);
  options.output = &options.outputs.add_flag(
      app, {"-o,--output", "FILE.npz", OutputKind::arrays, "write all outputs to this .npz"});
  app.add_flag("--layers", options.layers,
               "write every layer's result too, as real numbers, by the value's name");
  app.add_option("--top", options.top, "show the K best classes")
      ->type_name("K")
      ->capture_default_str()
      ->check(from_to(int64_t{1}, int64_t{1000000}));
  app.add_option("--labels", options.labels, "text file with one class name a line")
      ->type_name("FILE");
  app.add_option("--label-offset", options.label_offset,
                 "class of the first name: 1 for models with a background class")
      ->type_name("N");
  add_preprocess_flags(app, options.preprocess);
  add_sequence_flags(app, options.sequences);
  add_threads_flag(app, options.threads);
  add_device_flag(app, options.device);
  add_tuning_flag(app, options.tuning);
  app.add_flag(
      "--mmap", options.mmap,
      "leave an engine's weights in its file, which nobody may write into or cut short meanwhile");
  add_common_flags(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::run_cli
