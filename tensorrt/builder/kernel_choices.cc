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

// Of what the first profile says of inputs, by their bindings' names, what it says of this one at kOPT; null: nothing.
template <class Told>
const std::vector<int64_t>* usual(const octet::TensorInfo& input, const PlanInfo& info,
                                  const Told& told) {
  const auto binding = std::ranges::find_if(info.bindings, [&](const BindingInfo& one) {
    return one.is_input && one.onnx == input.name;
  });
  if (binding == info.bindings.end()) return nullptr;
  const auto found = told.find(binding->name);
  return found == told.end() ? nullptr : &found->second[1];
}

template <class T>
void fill(octet::Tensor& tensor, const std::vector<int64_t>& values) {
  const std::span<T> to = tensor.mutable_as<T>();
  for (size_t i = 0; i < to.size() && i < values.size(); ++i) to[i] = static_cast<T>(values[i]);
}

// Numbers that kernels of other results tell apart; rounded down they are indices of all tables, as zeros are.
void fill_reals(octet::Tensor& tensor) {
  constexpr size_t kPeriod = 251;
  size_t i = 0;
  for (float& value : tensor.mutable_as<float>())
    value = static_cast<float>(i++ % kPeriod) / static_cast<float>(kPeriod);
}

// The engine's inputs at kOPT of the first profile, where there is one, with the values that it has for them.
std::vector<octet::Tensor> usual_inputs(const octet::Engine& engine, const PlanInfo& info) {
  const ProfileInfo profile = info.profiles.empty() ? ProfileInfo{} : info.profiles[0];
  const std::vector<octet::Shape> samples = octet::sample_shapes(engine);
  const std::vector<octet::TensorInfo> inputs = engine.inputs();
  std::vector<octet::Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<int64_t>* sizes = usual(inputs[i], info, profile.shapes);
    const std::vector<int64_t>* values = usual(inputs[i], info, profile.values);
    const octet::Dtype dtype = inputs[i].type.dtype;
    octet::Tensor& tensor = tensors.emplace_back(
        dtype, sizes == nullptr ? samples[i] : octet::Shape(std::span<const int64_t>(*sizes)));
    std::memset(tensor.mutable_data(), 0, static_cast<size_t>(tensor.type().bytes()));
    if (dtype == octet::Dtype::f32 && values == nullptr) fill_reals(tensor);
    if (dtype == octet::Dtype::s32 && values != nullptr) fill<int32_t>(tensor, *values);
    if (dtype == octet::Dtype::s64 && values != nullptr) fill<int64_t>(tensor, *values);
  }
  return tensors;
}

bool must_not_miss([[maybe_unused]] const Config& config) {
#if NV_TENSORRT_MAJOR >= 10
  return config.has(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
#else
  return false;
#endif
}

// Refuses a build that must not miss a choice, and does.
void check_missed(const std::vector<octet::LayerInfo>& open) {
  if (open.empty()) return;
  const std::string more =
      open.size() == 1 ? "" : " and " + std::to_string(open.size() - 1) + " more";
  refuse("kERROR_ON_TIMING_CACHE_MISS is set, and the timing cache has no choice for layer '" +
         open.front().name + "'" + more +
         "; build once without the flag at level 4 to measure what is missing");
}

// Adds what the cache lacks. What goes wrong is no matter of the engine, which runs by estimates; a build that must not miss a choice
// ends by it.
void complete(const octet::Engine& engine, const Config& config, const PlanInfo& info,
              octet::Tuning& tuning) {
  try {
    const std::vector<octet::Tensor> inputs = usual_inputs(engine, info);
    std::vector<octet::Shape> shapes;
    for (const octet::Tensor& input : inputs) shapes.push_back(input.shape());
    octet::SelectionOptions options;
    options.threads = octet::usable_processors();
    options.tuning = std::make_shared<const octet::Tuning>(tuning);
    const std::vector<octet::LayerInfo> open = octet::unmeasured_layers(engine, shapes, options);
    if (must_not_miss(config)) return check_missed(open);
    if (!open.empty())
      octet::tune(octet::measure_selection(engine, inputs, options), options.threads, tuning);
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
