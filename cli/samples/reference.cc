// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/output/standard_files.h"
#include "cli/samples/output_errors.h"
#include "cli/samples/sample_runs.h"
#include "octet/extract.h"
#include "octet/onnxruntime.h"
#include "octet/output_comparison.h"
#include "octet/saved_outputs.h"
#include "octet/simulate.h"

namespace octet::cli {
namespace {

struct RuntimeName {
  std::string_view prefix;
  bool rewrites;
};

// In place of a file: what the engine itself was made of.
constexpr std::string_view kSimulation = "simulation";

constexpr RuntimeName kRuntimes[] = {{"onnxruntime:", true}, {"onnxruntime-plain:", false}};

const RuntimeName* runtime_of(const std::string& against) {
  const auto found = std::ranges::find_if(
      kRuntimes, [&](const RuntimeName& name) { return against.starts_with(name.prefix); });
  return found == std::end(kRuntimes) ? nullptr : found;
}

// "tensorrt:model.onnx" is no file, and Octet runs no such program.
void check_name(const std::string& against) {
  const size_t colon = against.find(':');
  if (colon == against.npos || colon < 2 || runtime_of(against) != nullptr) return;
  std::error_code unknown;
  if (against.find('/') < colon || std::filesystem::exists(against, unknown)) return;
  fail(Error::Code::invalid_argument,
       "--against {}: there is no such file, and '{}' is no runtime that is known; "
       "onnxruntime:MODEL.onnx and "
       "onnxruntime-plain:MODEL.onnx name the two ways of ONNX Runtime",
       against, against.substr(0, colon));
}

// ONNX Runtime says the same of a scalar and of a rank that it does not know: `there` is its own.
bool shapes_meet(const Shape& there, const Shape& wanted) {
  if (there.rank() <= 0 || wanted.is_unknown()) return true;
  bool meet = there.rank() == wanted.rank();
  for (int i = 0; meet && i < there.rank(); ++i)
    meet = there[i] == wanted[i] || there[i] == Shape::kDynamic || wanted[i] == Shape::kDynamic;
  return meet;
}

// One line for each of `wanted` that `there` lacks, or has in another type.
std::string differences(const char* what, const std::vector<TensorInfo>& wanted,
                        const std::vector<TensorInfo>& there, bool real_is_real) {
  std::string lines;
  for (const TensorInfo& info : wanted) {
    const auto at = std::ranges::find(there, info.name, &TensorInfo::name);
    if (at == there.end()) {
      lines += fmt::format("\n  it has no {} '{}'", what, info.name);
      continue;
    }
    const bool same = real_is_real ? comparable(at->type.dtype, info.type.dtype)
                                   : at->type.dtype == info.type.dtype;
    if (same && shapes_meet(at->type.shape, info.type.shape)) continue;
    lines += fmt::format("\n  {} '{}' is {}, and {} in the engine", what, info.name,
                         to_string(at->type), to_string(info.type));
  }
  return lines;
}

// The model takes the engine's inputs, and gives its outputs.
void check_model(const OnnxRuntime& runtime, const Engine& engine, const std::string& model) {
  std::string wrong = differences("input", engine.inputs(), runtime.inputs(), false) +
                      differences("output", engine.outputs(), runtime.outputs(), true);
  const std::vector<std::string> known = tensor_names(engine.inputs());
  for (const TensorInfo& input : runtime.inputs()) {
    if (std::ranges::find(known, input.name) == known.end())
      wrong += fmt::format("\n  the engine has no input '{}'", input.name);
  }
  if (wrong.empty()) return;
  fail(Error::Code::invalid_argument, "{}: is it the model that the engine was built from?{}",
       model, wrong);
}

// Inputs of the engine in the order of the model's.
std::vector<size_t> places_of(const OnnxRuntime& runtime, const Engine& engine) {
  const std::vector<std::string> names = tensor_names(engine.inputs());
  std::vector<size_t> places;
  for (const TensorInfo& input : runtime.inputs())
    places.push_back(static_cast<size_t>(std::ranges::find(names, input.name) - names.begin()));
  return places;
}

std::vector<Tensor> in_order(std::span<const Tensor> inputs, const std::vector<size_t>& places) {
  std::vector<Tensor> ordered;
  for (const size_t place : places) ordered.push_back(inputs[place]);
  return ordered;
}

// The values of a model in ONNX Runtime that the engine computes under the same names, in f32.
class RuntimeValues {
 public:
  RuntimeValues(const std::string& against, const Engine& engine, const OnnxRuntimeOptions& options)
      : runtime_(open(against, engine, options)), places_(places_of(runtime_, engine)) {
    std::vector<std::string> wanted = inner_values(engine);
    const auto is_real = [&](const std::string& name) {
      const auto& there = runtime_.outputs();
      const auto at = std::ranges::find(there, name, &TensorInfo::name);
      return at != there.end() && at->type.dtype == Dtype::f32;
    };
    std::erase_if(wanted, [&](const std::string& name) { return !is_real(name); });
    names_ = std::move(wanted);
  }

  const std::vector<std::string>& names() const { return names_; }

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    return runtime_.run(in_order(inputs, places_), names_);
  }

 private:
  static OnnxRuntime open(const std::string& against, const Engine& engine,
                          const OnnxRuntimeOptions& options) {
    const std::string model = without_runtime(against);
    std::vector<std::string> added;
    const auto bytes = onnx_with_outputs(model, inner_values(engine), added);
    return OnnxRuntime::open(bytes, model, options);
  }

  OnnxRuntime runtime_;
  std::vector<size_t> places_;
  std::vector<std::string> names_;
};

}  // namespace

// One of the three.
struct Reference::Source {
  std::optional<Context> context;
  std::optional<OnnxRuntime> runtime;
  std::optional<SavedOutputs> saved;
};

std::string without_runtime(const std::string& against) {
  const RuntimeName* runtime = runtime_of(against);
  return runtime == nullptr ? against : against.substr(runtime->prefix.size());
}

void add_reference_flags(CLI::App& app, Outputs& outputs, ReferenceFlags& flags) {
  app.add_option(
         "--against", flags.against,
         "model in FP32, or another engine; onnxruntime:MODEL.onnx runs the model in ONNX "
         "Runtime, onnxruntime-plain:MODEL.onnx there without rewriting it; simulation: the "
         "graph with Q/DQ that the engine was made of, in FP32")
      ->type_name("[onnxruntime:]MODEL.onnx|simulation");
  app.add_option("--load-outputs", flags.load,
                 "compare with the outputs in this file instead: those of --save-outputs, of octet "
                 "run -o, or arrays named as the outputs")
      ->type_name("FILE.npz");
  flags.save = &outputs.add_flag(app, {"--save-outputs", "FILE.npz", OutputKind::arrays,
                                       "write the outputs of what --against names"});
  app.add_option("--against-seconds", flags.seconds, "end ONNX Runtime when it takes longer [600]")
      ->type_name("S")
      ->check(from_to(0.001, 1e6));
}

Reference::Reference(const ReferenceFlags& flags, const Engine& engine, const Options& options)
    : flags_(flags),
      threads_(options.threads),
      tested_(options.tested),
      source_(std::make_unique<Source>()) {
  if (flags.against.empty() == flags.load.empty())
    fail(Error::Code::invalid_argument,
         "either --against or --load-outputs says what to compare with");
  if (!flags.load.empty()) {
    name_ = flags.load.string();
    source_->saved = SavedOutputs::read(readable(flags.load), engine.outputs(), options.samples);
  } else if (const RuntimeName* runtime = runtime_of(flags.against)) {
    const std::string model = without_runtime(flags.against);
    if (is_dash(model))
      fail(Error::Code::invalid_argument, "{}: ONNX Runtime reads a file", flags.against);
    source_->runtime = OnnxRuntime::open(
        model,
        {.threads = options.threads, .rewrites = runtime->rewrites, .seconds = flags.seconds});
    name_ = "ONNX Runtime " + source_->runtime->version();
    check_model(*source_->runtime, engine, model);
  } else if (flags.against == kSimulation) {
    name_ = "its Q/DQ graph in f32";
    engine_ = std::make_unique<Engine>(simulation(engine));
    source_->context = engine_->make_context({.threads = options.threads});
  } else {
    check_name(flags.against);
    name_ = flags.against;
    engine_ = std::make_unique<Engine>(
        reference_for({flags.against, options.threads, options.model}, engine));
    source_->context = engine_->make_context({.threads = options.threads});
  }
}

Reference::~Reference() = default;

void Reference::check_has_layers() const {
  if (engine_ != nullptr || source_->runtime) return;
  fail(Error::Code::invalid_argument,
       "--layers: {} has outputs alone; give --against MODEL.onnx, onnxruntime:MODEL.onnx or an "
       "engine",
       name_);
}

std::vector<ValueError> Reference::layers(const Engine& engine, const SampleSource& next,
                                          const CompareOptions& options) const {
  check_has_layers();
  if (engine_ != nullptr) return compare(*engine_, engine, next, options);
  RuntimeValues values(flags_.against, engine,
                       {.threads = options.threads,
                        .rewrites = runtime_of(flags_.against)->rewrites,
                        .seconds = flags_.seconds});
  if (values.names().empty()) {
    fail(Error::Code::invalid_argument,
         "--layers: {} and the engine have no value of one name; are they of one model?", name_);
  }
  return compare(
      values.names(), [&](std::span<const Tensor> inputs) { return values.run(inputs); }, engine,
      next, options);
}

void Reference::run(const Engine& engine, Samples& samples, const EachPair& each) {
  std::optional<Context> context;
  if (tested_ == nullptr) context = engine.make_context({.threads = threads_});
  std::vector<Runner> runners = {tested_ != nullptr ? runner_of(*tested_) : runner_of(*context)};
  const std::vector<std::string> names = tensor_names(engine.outputs());
  if (source_->context) runners.push_back(runner_of(*source_->context));
  if (source_->runtime) {
    runners.push_back(
        [&, places = places_of(*source_->runtime, engine)](std::span<const Tensor> inputs) {
          return source_->runtime->run(in_order(inputs, places), names);
        });
  }
  OutputArrays kept(names);
  int64_t done = 0;
  const auto look = [&](const LoadedSample& sample, auto outputs) {
    const std::vector<Tensor>& reference =
        source_->saved ? source_->saved->sample(done) : outputs[1];
    ++done;
    if (flags_.save->given()) kept.add(reference);
    each(sample, outputs[0], reference);
  };
  run_samples(engine, samples, runners, look, tested_ != nullptr ? tested_->contexts() : 1);
  if (flags_.save->given()) write(*flags_.save, kept.arrays());
}

}  // namespace octet::cli
