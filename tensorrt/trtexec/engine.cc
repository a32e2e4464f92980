// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/engine.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/fail.h"
#include "cli/flags/data_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/half_flags.h"
#include "cli/samples/engine_source.h"
#include "octet/compile.h"
#include "octet/inspect.h"
#include "octet/machine.h"
#include "octet/selection.h"
#include "tensorrt/trtexec/constraints.h"
#include "tensorrt/trtexec/log.h"
#include "tensorrt/trtexec/plan.h"

namespace octet::cli::trtexec {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// TensorRT's names beside ours. Its own rule cuts off what some models need, so ours stands for its calibrator.
RangeMethod method_of(const std::string& text) {
  if (text.empty() || text == "entropy2") return RangeRule::entropy;
  if (text == "percentile") return {RangeRule::percentile, 99.99};
  return parse_range_method(text);
}

// Tensors of real networks, as trtexec assumes them where nobody says better.
CalibrationOptions synthetic_ranges() {
  CalibrationOptions calibration;
  calibration.ranges = {{"*", -4.0f, 4.0f}};
  return calibration;
}

void add_cache(const Options& options, CalibrationOptions& calibration) {
  const std::string path = options.given.text("--calib");
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (options.has("--calibData")) return;
    fail(Error::Code::invalid_argument,
         "--calib={}: no such calibration cache; --calibData=<dir> calibrates on data, "
         "--calibCacheOut=<file> keeps what it finds",
         path);
  }
  calibration.cache = std::make_shared<const CalibrationCache>(load_calibration_cache(path));
  if (!options.has("--calibData")) return;
  calibration.data.clear();
  warning("--calibData has no effect: {} is read", path);
}

std::optional<CalibrationOptions> calibration_of(const Options& options) {
  for (const char* flag :
       {"--calibData", "--calibMethod", "--calibCacheOut", "--calibPreprocess"}) {
    if (options.has(flag) && !options.int8)
      fail(Error::Code::invalid_argument, "{} has no use without --int8", flag);
  }
  if (options.has("--calibCacheOut") && !options.has("--calibData"))
    fail(Error::Code::invalid_argument, "--calibCacheOut keeps what --calibData finds; add that");
  if (!options.int8 || !(options.has("--calib") || options.has("--calibData"))) return std::nullopt;
  CalibrationOptions calibration;
  calibration.data = options.given.text("--calibData");
  if (options.has("--calibPreprocess")) {
    const std::string path = options.given.text("--calibPreprocess");
    PreprocessFlags flags;
    flags.file = path;
    Resolved resolved = resolve(flags, {});
    calibration.preprocess = std::move(resolved.preprocess);
    calibration.preprocess_from = std::move(resolved.from);
    calibration.raw_pixels = resolved.scale_said;
  }
  if (options.has("--calib")) add_cache(options, calibration);
  if (calibration.cache == nullptr)
    calibration.method = method_of(options.given.text("--calibMethod"));
  calibration.make_cache =
      (options.has("--calibCacheOut") || options.has("--refit")) && calibration.cache == nullptr;
  return calibration;
}

// Compiles, and says how long the model's own part took.
class Build {
 public:
  Build(Options& options, const Files& files) : options_(options), files_(files) {
    compile_.plan = precision_plan(options);
    compile_.calibration = calibration_of(options);
    compile_.threads = usable_processors();
    compile_.monitor.report = [this](const Progress& progress) {
      if (progress.stage != "import") say_parsed();
      return true;
    };
  }

  Engine run() {
    put_in_force({}, options_.onnx);
    log_info("Start parsing network model.");
    start_ = Clock::now();
    Engine engine = compiled();
    say_parsed();
    complete_profiles(engine, options_);
    engine = with_plan(engine, options_, {compile_, report_, plugins_});
    if (!options_.version.old) say_profiles(engine.inputs());
    log_report();
    if (options_.int8 && !options_.has("--fp16") && !options_.has("--best"))
      log_info(
          "FP32 and INT8 precisions have been specified - more performance might be enabled by "
          "additionally specifying --fp16 or --best");
    if (compile_.plan.f16 && options_.device == "cpu") warn_of_slow_halves(engine);
    if (!options_.version.old)
      info("Created engine with size: {} MiB", number(mebibytes(engine.to_bytes().size())));
    info("Engine built in {} sec.", number(seconds_since(start_)));
    if (files_.engine().given()) write(files_.engine(), engine);
    if (files_.cache().given() && report_.cache != nullptr) write(files_.cache(), *report_.cache);
    return engine;
  }

 private:
  // INT8 without ranges from anywhere is measured with ranges that mean nothing, as trtexec does it.
  Engine compiled() {
    plugins_ = plugin_model(options_);
    check_refittable(options_, plugins_.has_value());
    if (plugins_) compile_.weights_folder = std::filesystem::absolute(options_.onnx).parent_path();
    try {
      return compiled_once();
    } catch (const Error& error) {
      if (error.field() != "CompileOptions.calibration" || compile_.calibration) throw;
    }
    log_warning("RANGES ARE SYNTHETIC: timing only, accuracy meaningless");
    log_warning(
        "Calibrator is not being used. Users must provide dynamic range for all tensors that are "
        "not Int32 or Bool. --calibData=<dir> calibrates on data, --calib=<file> reads a cache.");
    compile_.calibration = synthetic_ranges();
    return compiled_once();
  }

  Engine compiled_once() {
    return plugins_ ? compile(plugins_->onnx, compile_, &report_)
                    : compile(options_.onnx, compile_, &report_);
  }

  void say_parsed() {
    if (parsed_) return;
    parsed_ = true;
    info("Finished parsing network model. Parse time: {}", number(seconds_since(start_)));
  }

  void say_profiles(const std::vector<TensorInfo>& inputs) const {
    for (size_t p = 0; p < options_.profiles.size(); ++p) {
      for (const TensorInfo& input : inputs) {
        const ShapeRange* range = entry_for(options_.profiles[p], input.name);
        if (range == nullptr || input.type.shape.is_static()) continue;
        info("Set shape of input tensor {} for optimization profile {} to: MIN={} OPT={} MAX={}",
             input.name, p, dims_text(range->min), dims_text(range->opt), dims_text(range->max));
      }
    }
  }

  static void warn_of_slow_halves(const Engine& engine) {
    InspectOptions inspected;
    inspected.input_shapes = assumed_shapes(engine);
    const std::string slow = slow_halves(inspect(engine, inspected).layers);
    if (!slow.empty()) log_warning(slow);
  }

  void log_report() const {
    for (const std::string& text : report_.warnings) log_warning(text);
    for (const MissingRange& range : report_.missing_ranges) {
      warning(
          "Missing scale and zero-point for tensor {}, expect fall back to non-int8 implementation "
          "for any layer consuming or producing given tensor",
          range.tensor);
    }
    if (report_.handling) log_info(report_.handling->line());
    if (report_.calibration_samples > 0)
      info("Calibrated on {} samples", report_.calibration_samples);
    for (const Range& range : report_.ranges) {
      log_verbose(fmt::format("Range of {}: threshold {}, largest magnitude {}", range.tensor,
                              number(range.threshold), number(std::max(-range.min, range.max))));
    }
  }

  Options& options_;
  const Files& files_;
  CompileOptions compile_;
  CompileReport report_;
  std::optional<PluginModel> plugins_;
  Clock::time_point start_;
  bool parsed_ = false;
};

Engine loaded(const Options& options) {
  put_in_force({}, options.load);
  open_plan_plugins(options);
  const auto start = Clock::now();
  Engine engine = [&] {
    try {
      return Engine::load(options.load);
    } catch (Error& error) {
      check_plan_plugins(options);
      if (error.code() != Error::Code::io && !begins_as_engine(options.load))
        error.add_context(
            "an engine of TensorRT holds code for one GPU and one version: build Octet's from the "
            "model, with --onnx");
      throw;
    }
  }();
  info("Engine loaded in {} sec.", number(seconds_since(start)));
  info("Loaded engine with size: {} MiB", number(mebibytes(file_bytes(options.load))));
  return engine;
}

}  // namespace

int threads_of(const Options& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1, usable_processors() / options.streams);
}

Engine obtain_engine(Options& options, const Files& files) {
  const bool builds = options.load.empty();
  Engine engine = builds ? Build(options, files).run() : loaded(options);
  if (!builds) take_plan(engine, options);
  if (!options.has("--refitFromOnnx")) return engine;
  const auto start = Clock::now();
  engine = refitted(engine, options);
  info("Engine refitted in {} sec.", number(seconds_since(start)));
  return engine;
}

std::shared_ptr<const Tuning> obtain_tuning(const Options& options, const Files& files,
                                            const Engine& engine, std::span<const Tensor> inputs) {
  if (!files.tuning().given() || options.has("--noBuilderCache")) return nullptr;
  Tuning tuning;
  std::error_code error;
  if (std::filesystem::exists(files.tuning().path(), error)) {
    tuning = load_tuning(files.tuning().path());
    info("Loaded {} bytes of timing cache from {}", file_bytes(files.tuning().path()),
         files.tuning().path().string());
  }
  SelectionOptions selection;
  selection.threads = threads_of(options);
  selection.device = options.device;
  selection.tuning = std::make_shared<const Tuning>(tuning);
  if (!options.load.empty()) return selection.tuning;
  tune(measure_selection(engine, inputs, selection), selection.threads, tuning);
  write(files.tuning(), tuning);
  info("Saved timing cache of {} choices to {}", tuning.kernels().size(),
       files.tuning().path().string());
  return std::make_shared<const Tuning>(tuning);
}

}  // namespace octet::cli::trtexec
