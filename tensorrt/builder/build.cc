// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/build.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "octet/compile.h"
#include "octet/error.h"
#include "octet/refit.h"
#include "tensorrt/builder/calibration.h"
#include "tensorrt/builder/kernel_choices.h"
#include "tensorrt/builder/quiet_channels.h"
#include "tensorrt/builder/types.h"
#include "tensorrt/shared/onnx_text.h"

namespace octet_trt {
namespace {

// The phases of a build, as a progress monitor is told of them.
class Phases {
 public:
#if NV_TENSORRT_MAJOR >= 10
  explicit Phases(const Config& config) : monitor_(config.getProgressMonitor()) {
    if (monitor_ != nullptr) monitor_->phaseStart(kBuild, nullptr, 1);
  }
  // Where the build failed. What the monitor throws then is less than why.
  ~Phases() {
    try {
      end();
    } catch (...) {
    }
  }
  void end() {
    if (monitor_ == nullptr) return;
    IProgressMonitor* const monitor = std::exchange(monitor_, nullptr);
    finish(*monitor);
    monitor->phaseFinish(kBuild);
  }

  octet::Monitor monitor() {
    if (monitor_ == nullptr) return {};
    return {[this](const octet::Progress& progress) { return report(progress); }, {}};
  }

 private:
  static constexpr const char* kBuild = "Building an engine";

  void finish(IProgressMonitor& monitor) {
    const std::string ended = std::exchange(stage_, {});
    if (!ended.empty()) monitor.phaseFinish(ended.c_str());
  }
  bool report(const octet::Progress& progress) {
    if (progress.stage != stage_) {
      finish(*monitor_);
      stage_ = progress.stage;
      steps_ = 0;
      monitor_->phaseStart(stage_.c_str(), kBuild,
                           static_cast<int32_t>(std::max<int64_t>(1, progress.total)));
    }
    return monitor_->stepComplete(stage_.c_str(), steps_++);
  }

  IProgressMonitor* monitor_;
  std::string stage_;
  int32_t steps_ = 0;
#else
  explicit Phases(const Config&) {}
  octet::Monitor monitor() { return {}; }
  void end() {}
#endif
};

std::vector<octet::GivenRange> given_ranges(const Network& network, const Config& config) {
  std::vector<octet::GivenRange> ranges;
  const std::set<const LayerCore*> outside = network.layers_outside();
  const Tensor* inside = nullptr;
  for (const Tensor* tensor : network.tensors_of_model()) {
    if (!tensor->range) continue;
    if (tensor->producer != nullptr && !outside.contains(tensor->producer)) {
      inside = tensor;
      continue;
    }
    ranges.push_back({tensor->onnx_name(), tensor->range->min, tensor->range->max});
  }
  if (inside != nullptr)
    config.reporter.warn("the range of '" + inside->name +
                         "' and others inside of loops and conditions is not taken there: they "
                         "compute in INT8 by calibration alone");
  return ranges;
}

void check_flags(const Config& config) {
  if (config.has(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS) &&
      config.has(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS)) {
    refuse("kPREFER_PRECISION_CONSTRAINTS cannot be set if kOBEY_PRECISION_CONSTRAINTS is set");
  }
}

// Every input whose sizes are open has them in every profile.
void check_profiles(const Network& network, const Config& config,
                    const std::vector<Binding>& bindings) {
  if (network.is_implicit()) return;
  for (const Binding& binding : bindings) {
    if (!binding.is_input || volume(binding.dims) >= 0) continue;
    if (config.profiles().empty()) {
      refuse(
          "Network has dynamic or shape inputs, but no optimization profile has been defined: "
          "input '" +
          binding.name + "' has the sizes " + to_string(binding.dims));
    }
    for (const ProfileInfo& profile : config.profiles()) {
      if (!profile.shapes.contains(binding.name))
        refuse("an optimization profile has no sizes for input '" + binding.name + "'");
    }
  }
}

// Profiles of networks with a batch of their own have no sizes. Scripts name inputs that a network has not.
std::vector<ProfileInfo> kept_profiles(const Network& network, const Config& config,
                                       const std::vector<Binding>& bindings) {
  std::vector<ProfileInfo> kept;
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(
        bindings, [&](const Binding& binding) { return binding.is_input && binding.name == name; });
  };
  const auto take = [&](const auto& from, auto& to, const char* what) {
    for (const auto& [name, sizes] : from) {
      if (is_known(name)) {
        to.emplace(name, sizes);
      } else {
        config.reporter.warn(std::string("an optimization profile has ") + what + " for '" + name +
                             "', which is no input of the network");
      }
    }
  };
  for (const ProfileInfo& profile : config.profiles()) {
    if (network.is_implicit()) break;
    take(profile.shapes, kept.emplace_back().shapes, "sizes");
    take(profile.values, kept.back().values, "values");
  }
  return kept;
}

// What the engine leaves open is open, whatever the network thinks.
void open_outputs(const octet::Engine& engine, std::vector<BindingInfo>& bindings) {
  const auto outputs = engine.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<int64_t>& dims = bindings[bindings.size() - outputs.size() + i].dims;
    const octet::Shape& shape = outputs[i].type.shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] < 0 && static_cast<size_t>(axis) < dims.size())
        dims[static_cast<size_t>(axis)] = -1;
  }
}

// Whether a model has weights in files beside it.
bool has_files(std::string_view model) {
  for (const std::string& tensor : read_onnx(model).initializers) {
    const OnnxTensor read = read_tensor(tensor);
    if (read.raw.empty() && read.type.shape.elements() > 0) return true;
  }
  return false;
}

std::vector<BindingInfo> binding_infos(const Network& network,
                                       const std::vector<Binding>& bindings) {
  std::vector<BindingInfo> infos;
  for (const Binding& binding : bindings) {
    BindingInfo info;
    info.name = binding.name;
    info.onnx = binding.onnx;
    info.is_input = binding.is_input;
    info.type = binding.type;
    info.dims = to_vector(binding.dims);
    if (network.is_implicit()) info.dims.insert(info.dims.begin(), -1);
    info.scale = binding.scale;
    info.on_host = binding.on_host;
    info.format = binding.format;
    infos.push_back(info);
  }
  return infos;
}

// What became of calibration, in the log.
void tell(const octet::CompileReport& report, const Reporter& reporter) {
  for (const std::string& warning : report.warnings) reporter.warn(warning);
  for (const octet::MissingRange& missing : report.missing_ranges) {
    reporter.warn("Missing scale and zero-point for tensor " + missing.tensor +
                  ", expect fall back to non-int8 implementation for any layer consuming or "
                  "producing given tensor");
  }
}

class Build {
 public:
  Build(Network& network, Config& config, int threads)
      : network_(network), config_(config), threads_(threads), written_(network.write()) {}

  octet::Engine run() {
    check_flags(config_);
    check_profiles(network_, config_, written_.bindings);
    Phases phases(config_);
    octet::CompileOptions& options = options_;
    options.threads = threads_;
    options.monitor = phases.monitor();
    options.weights_folder = written_.weights_folder;
    options.plan.int8 = config_.has(BuilderFlag::kINT8);
    choose_ranges(options);
    choose_types(network_, config_, options.plan);
    keep_quiet_channels(options);
    octet::CompileReport report;
    octet::Engine engine =
        octet::compile(std::as_bytes(std::span(written_.bytes)), options, &report);
    phases.end();
    tell(report, config_.reporter);
    if (source_ && source_->reads_batches() && report.cache) source_->write_cache(*report.cache);
    if (options.calibration && options.calibration->cache) used_cache_ = options.calibration->cache;
    if (report.cache) used_cache_ = report.cache;
    return engine;
  }

  const WrittenModel& written() const { return written_; }

  // What a refit needs to build the model again.
  std::string refit_text() const { return octet::refit_text(options_, used_cache_); }

 private:
  void choose_ranges(octet::CompileOptions& options) {
    if (!options.plan.int8) return;
    if (config_.getInt8Calibrator() != nullptr && !network_.has_quantizers()) {
      source_.emplace(network_, config_, written_.bindings);
      options.calibration = source_->options();
    }
    std::vector<octet::GivenRange> ranges = given_ranges(network_, config_);
    if (!ranges.empty()) {
      if (!options.calibration) options.calibration.emplace();
      options.calibration->ranges = std::move(ranges);
    }
    if (options.calibration || network_.has_quantizers()) return;
    config_.reporter.warn(
        "Calibrator is not being used. Users must provide dynamic range for all tensors that are "
        "not Int32 or Bool. Nothing is computed in INT8.");
    options.plan.int8 = false;
  }

  // What a client asks to be INT8 is, whatever it costs; so is all of a network that must obey.
  bool is_asked_for(const std::string& name) const {
    return std::ranges::any_of(network_.layers_of_model(), [&](const LayerCore* layer) {
      return layer->name == name && layer->precision == DataType::kINT8;
    });
  }

  void keep_quiet_channels(octet::CompileOptions& options) const {
    const bool has_ranges_alone = options.plan.int8 && options.calibration &&
                                  options.calibration->samples == nullptr &&
                                  options.plan.constraint_mode != octet::ConstraintMode::obey;
    if (!has_ranges_alone || network_.has_plugins()) return;
    const std::vector<MadeUpInput> inputs = made_up_inputs(network_, config_, written_.bindings);
    if (inputs.empty()) return;
    for (const auto& [layer, why] : layers_of_quiet_channels(written_.bytes, options, inputs)) {
      if (is_asked_for(layer)) continue;
      options.plan.keep_float.push_back(layer);
      config_.reporter.log(Severity::kINFO, "layer '" + layer +
                                                "' stays in FP32, as ranges come without data and "
                                                "made-up inputs show that " +
                                                why);
    }
  }

  Network& network_;
  Config& config_;
  int threads_;
  WrittenModel written_;
  std::optional<CalibrationSource> source_;
  std::shared_ptr<const octet::CalibrationCache> used_cache_;
  octet::CompileOptions options_;
};

bool asks_for_refit(const Config& config) {
#if NV_TENSORRT_MAJOR >= 10
  // A plan without its weights would get them by a refit; here it keeps them, and may be refitted all the same.
  for (const BuilderFlag flag :
       {BuilderFlag::kREFIT_IDENTICAL, BuilderFlag::kREFIT_INDIVIDUAL, BuilderFlag::kSTRIP_PLAN})
    if (config.has(flag)) return true;
#endif
  return config.has(BuilderFlag::kREFIT);
}

}  // namespace

octet::Engine build_engine(Network& network, Config& config, int threads, int32_t max_batch) {
  network.max_batch = max_batch;
  Build build(network, config, threads);
  const octet::Engine engine = build.run();
  PlanInfo info;
  info.name = network.getName();
  info.implicit_batch = network.is_implicit();
  info.max_batch = max_batch;
  info.verbosity = static_cast<int64_t>(config.getProfilingVerbosity());
  info.bindings = binding_infos(network, build.written().bindings);
  open_outputs(engine, info.bindings);
  info.profiles = kept_profiles(network, config, build.written().bindings);
  for (const auto& plugin : network.plugins_of_model()) info.plugins.push_back(plugin->record);
  info.tuning = choices_of_kernels(engine, config, info);
  if (asks_for_refit(config)) {
    if (!build.written().weights_folder.empty() && has_files(build.written().bytes))
      refuse(
          "a plan that can be refitted takes its weights from the model, not from files beside it");
    info.refittable = true;
    info.refit_model = build.written().bytes;
    info.refit_options = build.refit_text();
  }
  return with_plan_info(engine, info);
}

}  // namespace octet_trt
