// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/builder/kernel_choices.h"

#include <algorithm>
#include <cstring>

#include "octet/inspect.h"
#include "octet/machine.h"
#include "octet/selection.h"
#include "octet/tuning.h"
#include "tensorrt/shared/gpu.h"

namespace octet_trt {
namespace {

// Of TensorRT's levels 0 to 5 the first that takes time for more than the usual.
constexpr int32_t kThorough = 4;

// Sizes at kOPT of the first profile, where there is one.
std::vector<octet::Shape> usual_shapes(const octet::Engine& engine, const PlanInfo& info) {
  std::vector<octet::Shape> shapes = octet::sample_shapes(engine);
  const std::vector<octet::TensorInfo> inputs = engine.inputs();
  for (size_t i = 0; i < inputs.size() && !info.profiles.empty(); ++i) {
    const auto binding = std::ranges::find_if(info.bindings, [&](const BindingInfo& one) {
      return one.is_input && one.onnx == inputs[i].name;
    });
    if (binding == info.bindings.end()) continue;
    const auto sizes = info.profiles[0].shapes.find(binding->name);
    if (sizes != info.profiles[0].shapes.end())
      shapes[i] = octet::Shape(std::span<const int64_t>(sizes->second[1]));
  }
  return shapes;
}

// Zeros: how long kernels take does not depend on numbers, and zeros are indices of all tables.
std::vector<octet::Tensor> zeros_for(const octet::Engine& engine,
                                     const std::vector<octet::Shape>& shapes) {
  std::vector<octet::Tensor> tensors;
  const std::vector<octet::TensorInfo> inputs = engine.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    octet::Tensor& tensor = tensors.emplace_back(inputs[i].type.dtype, shapes[i]);
    std::memset(tensor.mutable_data(), 0, static_cast<size_t>(tensor.type().bytes()));
  }
  return tensors;
}

// Layers of which several kernels could run, and the cache names none.
std::vector<std::string> open_layers(const octet::Engine& engine,
                                     const octet::InspectOptions& options) {
  std::vector<std::string> open;
  for (const octet::LayerInfo& layer : octet::inspect(engine, options).layers) {
    using By = octet::KernelChoice::By;
    if (!layer.signature.empty() && (layer.choice.by == By::cost || layer.choice.by == By::order))
      open.push_back(layer.name);
  }
  return open;
}

bool must_not_miss([[maybe_unused]] const Config& config) {
#if NV_TENSORRT_MAJOR >= 10
  return config.has(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
#else
  return false;
#endif
}

void measure(const octet::Engine& engine, const octet::InspectOptions& seen,
             octet::Tuning& tuning) {
  octet::SelectionOptions options;
  options.threads = seen.threads;
  options.tuning = seen.tuning;
  const std::vector<octet::Tensor> inputs = zeros_for(engine, seen.input_shapes);
  octet::tune(octet::measure_selection(engine, inputs, options), seen.threads, tuning);
}

// Refuses a build that must not miss a choice, and does.
void check_missed(const std::vector<std::string>& open) {
  if (open.empty()) return;
  const std::string more =
      open.size() == 1 ? "" : " and " + std::to_string(open.size() - 1) + " more";
  refuse("kERROR_ON_TIMING_CACHE_MISS is set, and the timing cache has no choice for layer '" +
         open.front() + "'" + more +
         "; build once without the flag at level 4 to measure what is missing");
}

// Adds what the cache lacks. What goes wrong is no matter of the engine, which runs by estimates; a build that must not miss a choice
// ends by it.
void complete(const octet::Engine& engine, const Config& config, const PlanInfo& info,
              octet::Tuning& tuning) {
  try {
    octet::InspectOptions options;
    options.input_shapes = usual_shapes(engine, info);
    options.threads = octet::usable_processors();
    options.tuning = std::make_shared<const octet::Tuning>(tuning);
    const std::vector<std::string> open = open_layers(engine, options);
    if (must_not_miss(config)) return check_missed(open);
    if (!open.empty()) measure(engine, options, tuning);
  } catch (const octet::Error& error) {
    if (must_not_miss(config)) throw;
    config.reporter.warn("kernels are chosen by estimates, as they could not be measured: " +
                         std::string(error.what()));
  }
}

// Kernels of a GPU would be compiled for each choice, and plugins are run by nobody but contexts: what is lacking is not known.
void tell_unmeasured(const Config& config) {
  if (must_not_miss(config))
    refuse(
        "kERROR_ON_TIMING_CACHE_MISS is set, and on a GPU and for networks with plugins nobody "
        "can tell which choices the timing cache lacks; build without the flag");
  config.reporter.log(Severity::kINFO,
                      "the timing cache gives its choices of kernels; others are not measured "
                      "on a GPU, nor for networks with plugins");
}

}  // namespace

std::string choices_of_kernels(const octet::Engine& engine, const Config& config,
                               const PlanInfo& info) {
  TimingCache* cache = config.timing_cache();
  if (cache == nullptr || config.has(BuilderFlag::kDISABLE_TIMING_CACHE)) return {};
  octet::Tuning tuning;
  if (!cache->tuning.empty()) tuning = octet::tuning_from_json(cache->tuning, "the timing cache");
  const bool measurable = run_device() == "cpu" && info.plugins.empty();
  if (must_not_miss(config) || config.getBuilderOptimizationLevel() >= kThorough) {
    if (measurable)
      complete(engine, config, info, tuning);
    else
      tell_unmeasured(config);
  }
  if (tuning.kernels().empty()) return {};
  cache->tuning = octet::to_json(tuning);
  return cache->tuning;
}

}  // namespace octet_trt
