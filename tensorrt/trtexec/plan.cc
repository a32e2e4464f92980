// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/plan.h"

#include <algorithm>
#include <iterator>

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "octet/attachment.h"
#include "octet/input.h"
#include "octet/refit.h"
#include "octet/tensorrt_plan.h"
#include "octet/weights.h"
#include "tensorrt/trtexec/engine.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

std::vector<int64_t> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }
Shape shape_of(const std::vector<int64_t>& sizes) { return Shape(std::span<const int64_t>(sizes)); }

ProfileSizes sizes_of(const ShapeRange& range) {
  return {sizes_of(range.min), sizes_of(range.opt), sizes_of(range.max)};
}

void check_range(size_t profile, const TensorInfo& input, const ShapeRange& range) {
  for (const Shape& shape : {range.min, range.opt, range.max}) check_fits(input, shape);
  const std::string wrong = profile_problem(sizes_of(range), input.type.shape);
  if (wrong.empty()) return;
  fail(Error::Code::invalid_argument,
       "Optimization profile {} cannot be that of input tensor {}: {}", profile, input.name, wrong);
}

// Only what is open needs a profile; a pattern becomes the inputs that it names.
OptimizationProfile kept_profile(const std::vector<TensorInfo>& inputs, const ShapeRanges& ranges) {
  OptimizationProfile profile;
  for (const TensorInfo& input : inputs) {
    const ShapeRange* range = entry_for(ranges, input.name);
    if (range != nullptr && !input.type.shape.is_static())
      profile.shapes[input.name] = sizes_of(*range);
  }
  return profile;
}

void keep_model(const Options& options, const Built& built, TensorRtPlan& plan) {
  plan.refittable = true;
  constexpr uint64_t kMostModelBytes = uint64_t{2} << 30;
  plan.rest = read_text(options.onnx, kMostModelBytes);
  auto cache = built.report.cache;
  if (cache == nullptr && built.options.calibration) cache = built.options.calibration->cache;
  plan.refit_options = refit_text(built.options, cache);
}

// By the engine's own names.
ShapeRanges ranges_of(const TensorRtPlan& plan, const OptimizationProfile& profile,
                      const std::vector<TensorInfo>& inputs) {
  ShapeRanges ranges;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found =
        profile.shapes.find(plan.bindings.empty() ? inputs[i].name : plan.bindings[i].name);
    if (found == profile.shapes.end()) continue;
    const ProfileSizes& sizes = found->second;
    ranges[inputs[i].name] = {shape_of(sizes[0]), shape_of(sizes[1]), shape_of(sizes[2])};
  }
  return ranges;
}

void say_assumed(const TensorInfo& input, const Shape& shape, Options& options) {
  warning(
      "Dynamic dimensions required for input: {}, but no shapes were provided. Automatically "
      "overriding shape to: {}",
      input.name, dims_text(shape));
  options.assumed +=
      fmt::format("{}{}:{}", options.assumed.empty() ? "" : ",", input.name, dims_text(shape));
}

void complete(const TensorInfo& input, const Shape& assumed, size_t index, Options& options) {
  ShapeRanges& profile = options.profiles[index];
  if (const ShapeRange* range = entry_for(profile, input.name)) {
    check_range(index, input, *range);
    return;
  }
  if (input.type.shape.is_static()) return;
  const Shape* given = entry_for(options.shapes, input.name);
  if (given == nullptr && index == options.profile) say_assumed(input, assumed, options);
  const Shape shape = given == nullptr ? assumed : *given;
  profile[input.name] = {shape, shape, shape};
}

bool gives_profiles(const Options& options) {
  return std::ranges::any_of(options.profiles,
                             [](const ShapeRanges& ranges) { return !ranges.empty(); });
}

}  // namespace

void complete_profiles(const Engine& engine, Options& options) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  const std::vector<Shape> assumed = assumed_shapes(engine);
  for (size_t p = 0; p < options.profiles.size(); ++p) {
    check_names(inputs, options.profiles[p]);
    for (size_t i = 0; i < inputs.size(); ++i) complete(inputs[i], assumed[i], p, options);
  }
  for (const auto& [name, range] : options.profiles[options.profile]) {
    if (entry_for(options.shapes, name) == nullptr) options.shapes[name] = range.opt;
  }
}

void take_plan(const Engine& engine, Options& options) {
  const std::optional<TensorRtPlan> plan = tensorrt_plan(engine);
  if (plan && !options.has("--profilingVerbosity") && !options.has("--nvtxMode"))
    options.verbosity = static_cast<InspectorVerbosity>(plan->verbosity);
  if (plan && !plan->profiles.empty()) {
    if (gives_profiles(options))
      log_warning("The plan has its profiles: of those given here the shapes to run with count");
    options.profiles.clear();
    for (const OptimizationProfile& profile : plan->profiles)
      options.profiles.push_back(ranges_of(*plan, profile, engine.inputs()));
  }
  if (options.profile >= options.profiles.size())
    fail(Error::Code::invalid_argument,
         "Selected profile index {} exceeds the number of profiles that the engine holds. ",
         options.profile);
  complete_profiles(engine, options);
}

void check_refittable(const Options& options, bool has_plugins) {
  if (!options.has("--refit")) return;
  if (has_plugins)
    fail(Error::Code::unsupported,
         "--refit: plans with plugins of TensorRT are refitted by programs of its interface "
         "(docs/tensorrt-api.md)");
  if (!weights_files(options.onnx).empty())
    fail(Error::Code::unsupported,
         "--refit: a plan that can be refitted takes its weights from the model, not from files "
         "beside it");
}

Engine with_plan(const Engine& engine, const Options& options, const Built& built) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  TensorRtPlan plan;
  plan.verbosity = static_cast<int32_t>(options.verbosity);
  const bool is_open = std::ranges::any_of(
      inputs, [](const TensorInfo& input) { return !input.type.shape.is_static(); });
  for (const ShapeRanges& ranges : options.profiles) {
    if (is_open) plan.profiles.push_back(kept_profile(inputs, ranges));
  }
  if (built.plugins) {
    plan.plugins = built.plugins->plugins;
    plan.rest = built.plugins->states;
  }
  if (options.has("--refit")) keep_model(options, built, plan);
  check_plan(plan, engine);
  const std::string bytes = to_bytes(plan);
  return with_attachment(engine, std::as_bytes(std::span(bytes)));
}

Engine refitted(const Engine& engine, const Options& options) {
  const std::string path = options.given.text("--refitFromOnnx");
  const std::optional<TensorRtPlan> plan = tensorrt_plan(engine);
  if (!plan || !plan->refittable)
    fail(Error::Code::invalid_argument,
         "--refitFromOnnx={}: the engine was built without --refit, which keeps how it was built; "
         "build one of that model with --onnx",
         path);
  if (plan->plugins != "[]")
    fail(Error::Code::unsupported,
         "--refitFromOnnx={}: a plan with plugins of TensorRT is refitted by IRefitter", path);
  const std::string difference = refit_difference(std::as_bytes(std::span(plan->rest)), path);
  if (!difference.empty())
    fail(Error::Code::invalid_argument,
         "--refitFromOnnx={}: the model is not the engine's with other weights: {}", path,
         difference);
  CompileOptions compiled = refit_options(plan->refit_options);
  compiled.threads = threads_of(options);
  CompileReport report;
  Engine made = compile(path, compiled, &report);
  for (const std::string& text : report.warnings) log_warning(text);
  return made;
}

}  // namespace octet::cli::trtexec
