// SPDX-License-Identifier: Apache-2.0
// octet run: images or arrays through an engine; top classes on the terminal, or all outputs into an .npz.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>

#include "cli/command.h"
#include "cli/data_flags.h"
#include "cli/engine_flags.h"
#include "cli/fail.h"
#include "cli/output_errors.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "octet/engine.h"
#include "octet/inspect.h"
#include "octet/npz.h"

namespace octet::cli {
namespace {

constexpr const char* kFooter =
    "Images go through the preprocessing that the engine remembers; flags override it. The arrays "
    "of an .npz are\n"
    "the engine's inputs by name, batch included, and are used as they are. -o writes every output "
    "by its name.\n\n"
    "Examples:\n"
    "  octet run resnet20.octet cat.jpg\n"
    "  octet run mobilenet.octet a.jpg b.jpg --top 3 --labels synsets.txt\n"
    "  octet run yolo.octet inputs.npz -o outputs.npz\n"
    "  octet run resnet20.octet cat.jpg --json | jq '.results[0].outputs[0].top[0].index'\n";

struct Options {
  std::filesystem::path engine;
  std::vector<std::filesystem::path> inputs;
  Outputs outputs;
  Output* output = nullptr;
  std::filesystem::path labels;
  int64_t top = 5;
  PreprocessFlags preprocess;
  int threads = 1;
  std::string device = "cpu";
  std::filesystem::path tuning;
  LimitFlags limits;
  bool json = false;
};

struct Ranked {
  int64_t index = 0;
  float value = 0;
};

std::vector<std::string> read_labels(const std::filesystem::path& path) {
  std::vector<std::string> labels;
  if (path.empty()) return labels;
  std::istringstream lines(read_text_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(line);
  }
  return labels;
}

bool is_array_file(const std::filesystem::path& path) {
  return path.extension() == ".npz" || path.extension() == ".npy";
}

// The inputs of one run, in the engine's order.
std::vector<Tensor> read_arrays(const Engine& engine, const std::filesystem::path& path) {
  const auto infos = engine.inputs();
  if (path.extension() == ".npy") {
    if (infos.size() != 1) {
      fail(Error::Code::invalid_argument,
           "{}: the engine has {} inputs; give an .npz with an array of each name", path.string(),
           infos.size());
    }
    return {read_npy(path)};
  }
  const std::vector<std::string> arrays = npz_arrays(path);
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : infos) {
    if (std::find(arrays.begin(), arrays.end(), info.name) == arrays.end()) {
      fail(Error::Code::invalid_argument,
           "{}: no array '{}', which the engine takes as input; it has {}", path.string(),
           info.name, joined(arrays));
    }
    inputs.push_back(read_npz(path, info.name));
  }
  return inputs;
}

std::vector<Tensor> read_inputs(const Options& options, const Engine& engine,
                                const std::filesystem::path& path) {
  if (is_array_file(path)) return read_arrays(engine, path);
  DataOptions data;
  data.data = path;
  data.preprocess = resolve(options.preprocess, engine.preprocess());
  auto sample = Samples(engine, data).next();
  if (!sample) fail(Error::Code::invalid_argument, "{}: nothing to run", path.string());
  return std::move(sample->inputs);
}

// Scores of one sample: [1,K] or [1,K,1,1]. Other shapes are no classification.
bool is_classifier_output(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  return shape.rank() >= 2 && shape[0] == 1 && shape[1] > 1 && shape[1] == tensor.elements();
}

std::vector<Ranked> top_of(const Tensor& tensor, int64_t count) {
  const std::vector<float> values = to_floats(tensor);
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  std::vector<Ranked> ranked;
  for (const int64_t index : order) ranked.push_back({index, values[static_cast<size_t>(index)]});
  return ranked;
}

std::string label_of(const std::vector<std::string>& labels, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return i < labels.size() ? labels[i] : std::string();
}

void print_output(const Options& options, const std::vector<std::string>& labels,
                  const TensorInfo& info, const Tensor& tensor) {
  fmt::print("  {}: {}\n", sanitize(info.name), to_string(tensor.type()));
  if (is_classifier_output(tensor)) {
    for (const Ranked& entry : top_of(tensor, options.top)) {
      fmt::print("  {:>6}  {:>12.6g}  {}\n", entry.index, entry.value,
                 sanitize(label_of(labels, entry.index)));
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

nlohmann::ordered_json output_json(const Options& options, const std::vector<std::string>& labels,
                                   const TensorInfo& info, const Tensor& tensor) {
  nlohmann::ordered_json object = {{"name", info.name}, {"type", to_string(tensor.type())}};
  if (!is_classifier_output(tensor)) return object;
  nlohmann::ordered_json top = nlohmann::ordered_json::array();
  for (const Ranked& entry : top_of(tensor, options.top)) {
    top.push_back({{"index", entry.index}, {"value", entry.value}});
    if (!labels.empty()) top.back()["label"] = label_of(labels, entry.index);
  }
  object["top"] = std::move(top);
  return object;
}

void save_outputs(const Output& to, const std::vector<TensorInfo>& infos,
                  const std::vector<Tensor>& outputs) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (size_t i = 0; i < outputs.size(); ++i) arrays.emplace_back(infos[i].name, outputs[i]);
  write(to, arrays);
}

int run(const Options& options) {
  put_in_force(options.limits, options.engine);
  if (options.output->given() && options.inputs.size() > 1) {
    fail(Error::Code::invalid_argument, "-o takes the outputs of one input, but {} are given",
         options.inputs.size());
  }
  const Engine engine = Engine::load(options.engine);
  const std::vector<std::string> labels = read_labels(options.labels);
  const auto infos = engine.outputs();
  const auto tuning = read_tuning(options.tuning);
  Context context = engine.make_context({options.threads, tuning, options.device});
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const auto& path : options.inputs) {
    const std::vector<Tensor> inputs = read_inputs(options, engine, path);
    const std::vector<Tensor> outputs = context.run(inputs);
    if (tuning != nullptr && results.empty()) {
      InspectOptions planned{{}, options.threads, tuning, options.device};
      for (const Tensor& input : inputs) planned.input_shapes.push_back(input.shape());
      warn_of_stale_choices(inspect(engine, planned).layers, options.tuning);
    }
    if (options.output->given()) save_outputs(*options.output, infos, outputs);
    if (!options.json) fmt::print("{}\n", sanitize(path.string()));
    nlohmann::ordered_json shown = nlohmann::ordered_json::array();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!options.json) print_output(options, labels, infos[i], outputs[i]);
      if (options.json) shown.push_back(output_json(options, labels, infos[i], outputs[i]));
    }
    results.push_back({{"input", path.string()}, {"outputs", std::move(shown)}});
  }
  if (options.json) print_json({{"results", std::move(results)}});
  return kDone;
}

}  // namespace

Command add_run(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("run", "Run images or arrays through an engine");
  app->footer(kFooter);
  app->add_option("engine", options->engine, "engine file")->required()->type_name("ENGINE");
  app->add_option("inputs", options->inputs, "images, .npz or .npy files")
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
  add_preprocess_flags(*app, options->preprocess);
  add_threads_flag(*app, options->threads);
  add_device_flag(*app, options->device);
  add_tuning_flag(*app, options->tuning);
  add_limit_flags(*app, options->limits);
  add_json_flag(*app, options->json);
  return {app, [options] { return run(*options); }, &options->outputs};
}

}  // namespace octet::cli
