// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/engine/engine.h"

#include <algorithm>
#include <utility>

#include "octet/inspect.h"
#include "tensorrt/engine/context.h"
#include "tensorrt/plugins/registry.h"
#include "tensorrt/shared/block_format.h"
#include "tensorrt/shared/host_memory.h"

namespace octet_trt {
namespace {

constexpr const char* kNone = "";

Dims dims_of(const BindingInfo& binding, bool implicit) {
  const Dims dims = to_dims(binding.dims);
#if NV_TENSORRT_MAJOR >= 10
  (void)implicit;
  return dims;
#else
  return implicit ? without_front(dims) : dims;
#endif
}

std::string type_text(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return "FP32";
    case DataType::kHALF:
      return "FP16";
    case DataType::kINT8:
      return "INT8";
    case DataType::kBOOL:
      return "BOOL";
    default:
      return name_of(type);
  }
}

}  // namespace

std::shared_ptr<LivePlugin> live_again(const PluginRecord& plugin) {
  const auto held = find_creator(plugin.name) ? nullptr : find_live(plugin.key);
  if (held != nullptr) return held;
  return publish(plugin, deserialize_plugin(plugin.name, plugin.layer, plugin.state));
}

int32_t components_per_element(const BindingInfo& binding) {
  const FormatInfo* info = format_info(binding.format);
  return info == nullptr ? -1 : info->component;
}

std::string format_text(const BindingInfo& binding) {
  return format_words(binding.format, type_text(binding.type));
}

EngineState::EngineState(octet::Engine loaded, PlanInfo told)
    : engine(std::move(loaded)), info(std::move(told)) {
  for (const PluginRecord& plugin : info.plugins) plugins.push_back(live_again(plugin));
}

int EngineState::binding_index(const char* name) const {
  if (name == nullptr) return -1;
  for (size_t i = 0; i < info.bindings.size(); ++i)
    if (info.bindings[i].name == name) return static_cast<int>(i);
  return -1;
}

const BindingInfo* EngineState::binding(const char* name) const {
  const int i = binding_index(name);
  return i < 0 ? nullptr : &info.bindings[static_cast<size_t>(i)];
}

const std::vector<int64_t>* EngineState::profile_shape(const std::string& name, int32_t index,
                                                       OptProfileSelector select) const {
  if (index < 0 || static_cast<size_t>(index) >= info.profiles.size()) return nullptr;
  const auto& shapes = info.profiles[static_cast<size_t>(index)].shapes;
  const auto found = shapes.find(name);
  return found == shapes.end() ? nullptr : &found->second[static_cast<size_t>(select) % 3];
}

const std::vector<int64_t>* EngineState::profile_values(const char* name, int32_t index,
                                                        OptProfileSelector select) const {
  if (name == nullptr || index < 0 || static_cast<size_t>(index) >= info.profiles.size())
    return nullptr;
  const auto& values = info.profiles[static_cast<size_t>(index)].values;
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second[static_cast<size_t>(select) % 3];
}

std::shared_ptr<const octet::Tuning> EngineState::tuning() const {
  std::call_once(tuning_is_read_, [&] {
    if (!info.tuning.empty())
      tuning_ =
          std::make_shared<const octet::Tuning>(octet::tuning_from_json(info.tuning, "the plan"));
  });
  return tuning_;
}

std::vector<octet::Shape> EngineState::usual_shapes() const {
  std::vector<octet::Shape> shapes;
  const auto inputs = engine.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* told = profile_shape(info.bindings[i].name, 0, OptProfileSelector::kOPT);
    octet::Shape shape = inputs[i].type.shape;
    if (told != nullptr) shape = octet::Shape(std::span<const int64_t>(*told));
    if (!shape.is_static()) return {};
    shapes.push_back(shape);
  }
  return shapes;
}

Engine::Engine(std::shared_ptr<EngineState> state, Reporter told)
    : reporter(told), state_(std::move(state)) {}

ICudaEngine* make_engine(const octet::Engine& engine, const Reporter& reporter) {
  return new Engine(std::make_shared<EngineState>(engine, plan_info(engine)), reporter);
}

Dims Engine::getTensorShape(char const* tensorName) const noexcept {
  return guarded(reporter, "ICudaEngine::getTensorShape", no_dims(), [&] {
    const BindingInfo* binding = state_->binding(tensorName);
    return binding == nullptr ? no_dims() : dims_of(*binding, state_->info.implicit_batch);
  });
}

DataType Engine::getTensorDataType(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  return binding == nullptr ? DataType::kFLOAT : binding->type;
}

int32_t Engine::getNbLayers() const noexcept {
  return guarded(reporter, "ICudaEngine::getNbLayers", int32_t{0}, [&] {
    octet::InspectOptions options;
    options.input_shapes = state_->usual_shapes();
    if (layers_ < 0)
      layers_ = static_cast<int32_t>(octet::inspect(state_->engine, options).layers.size());
    return layers_;
  });
}

IHostMemory* Engine::serialize() const noexcept {
  return guarded(reporter, "ICudaEngine::serialize", static_cast<IHostMemory*>(nullptr),
                 [&]() -> IHostMemory* { return new HostMemory(state_->engine.to_bytes()); });
}

TensorLocation Engine::getTensorLocation(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  const bool on_host = binding != nullptr && (binding->on_host || isShapeInferenceIO(tensorName));
  return on_host ? TensorLocation::kHOST : TensorLocation::kDEVICE;
}

bool Engine::isShapeInferenceIO(char const* tensorName) const noexcept {
  return state_->is_shape_input(tensorName);
}

TensorIOMode Engine::getTensorIOMode(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  if (binding == nullptr) return TensorIOMode::kNONE;
  return binding->is_input ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT;
}

int32_t Engine::getTensorBytesPerComponent(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  if (binding == nullptr || components_per_element(*binding) < 0) return -1;
  return guarded(reporter, "ICudaEngine::getTensorBytesPerComponent", int32_t{-1},
                 [&] { return static_cast<int32_t>(bytes_of(binding->type)); });
}

int32_t Engine::getTensorComponentsPerElement(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  return binding == nullptr ? -1 : components_per_element(*binding);
}

TensorFormat Engine::getTensorFormat(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  return binding == nullptr ? TensorFormat::kLINEAR : binding->format;
}

char const* Engine::getTensorFormatDesc(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  if (binding == nullptr) return kNone;
  return guarded(reporter, "ICudaEngine::getTensorFormatDesc", kNone, [&] {
    const std::lock_guard lock(state_->mutex);
    std::string& text = texts_[binding->name];
    if (text.empty()) text = format_text(*binding);
    return text.c_str();
  });
}

int32_t Engine::getTensorVectorizedDim(char const* tensorName) const noexcept {
  const BindingInfo* binding = state_->binding(tensorName);
  if (binding == nullptr || components_per_element(*binding) <= 1) return -1;
  const int spatial = format_info(binding->format)->spatial;
  return dims_of(*binding, state_->info.implicit_batch).nbDims - spatial - 1;
}

int32_t Engine::OCTET_TRT_V2(getTensorBytesPerComponent)(char const* tensorName,
                                                         int32_t) const noexcept {
  return getTensorBytesPerComponent(tensorName);
}
int32_t Engine::OCTET_TRT_V2(getTensorComponentsPerElement)(char const* tensorName,
                                                            int32_t) const noexcept {
  return getTensorComponentsPerElement(tensorName);
}
TensorFormat Engine::OCTET_TRT_V2(getTensorFormat)(char const* tensorName, int32_t) const noexcept {
  return getTensorFormat(tensorName);
}
char const* Engine::OCTET_TRT_V2(getTensorFormatDesc)(char const* tensorName,
                                                      int32_t) const noexcept {
  return getTensorFormatDesc(tensorName);
}
int32_t Engine::OCTET_TRT_V2(getTensorVectorizedDim)(char const* tensorName,
                                                     int32_t) const noexcept {
  return getTensorVectorizedDim(tensorName);
}

char const* Engine::getName() const noexcept { return state_->info.name.c_str(); }
int32_t Engine::getNbOptimizationProfiles() const noexcept {
  return std::max<int32_t>(1, static_cast<int32_t>(state_->info.profiles.size()));
}

Dims Engine::getProfileShape(char const* tensorName, int32_t profileIndex,
                             OptProfileSelector select) const noexcept {
  return guarded(reporter, "ICudaEngine::getProfileShape", no_dims(), [&] {
    need_right(select, "end of a range");
    const BindingInfo* binding = state_->binding(tensorName);
    if (binding == nullptr || !binding->is_input) return no_dims();
    const auto* shape = state_->profile_shape(binding->name, profileIndex, select);
    return shape == nullptr ? getTensorShape(tensorName) : to_dims(*shape);
  });
}

EngineCapability Engine::getEngineCapability() const noexcept {
  return EngineCapability::kSTANDARD;
}
void Engine::setErrorRecorder(IErrorRecorder* recorder) noexcept { reporter.recorder = recorder; }
IErrorRecorder* Engine::getErrorRecorder() const noexcept { return reporter.recorder; }
TacticSources Engine::getTacticSources() const noexcept { return 0; }
ProfilingVerbosity Engine::getProfilingVerbosity() const noexcept {
  return static_cast<ProfilingVerbosity>(state_->info.verbosity % 3);
}

int32_t Engine::getNbIOTensors() const noexcept {
  return static_cast<int32_t>(state_->info.bindings.size());
}
char const* Engine::getIOTensorName(int32_t index) const noexcept {
  const bool is_one = index >= 0 && index < getNbIOTensors();
  return is_one ? state_->info.bindings[static_cast<size_t>(index)].name.c_str() : nullptr;
}

HardwareCompatibilityLevel Engine::getHardwareCompatibilityLevel() const noexcept {
  return HardwareCompatibilityLevel::kNONE;
}
int32_t Engine::getNbAuxStreams() const noexcept { return 0; }
bool Engine::isRefittable() const noexcept { return state_->info.refittable; }

std::size_t Engine::getDeviceMemorySize() const noexcept {
  return guarded(reporter, "ICudaEngine::getDeviceMemorySize", std::size_t{0}, [&] {
    if (memory_ < 0) memory_ = octet::inspect(state_->engine).arena_bytes;
    return static_cast<std::size_t>(memory_);
  });
}

IExecutionContext* Engine::createExecutionContextWithoutDeviceMemory() noexcept {
  return guarded(reporter, "ICudaEngine::createExecutionContext",
                 static_cast<IExecutionContext*>(nullptr), [&]() -> IExecutionContext* {
                   return new Context(*this, ExecutionContextAllocationStrategy::kUSER_MANAGED);
                 });
}

int32_t const* Engine::getProfileTensorValues(char const* tensorName, int32_t profileIndex,
                                              OptProfileSelector select) const noexcept {
  return guarded(reporter, "ICudaEngine::getProfileTensorValues",
                 static_cast<int32_t const*>(nullptr), [&]() -> int32_t const* {
                   need_right(select, "end of a range");
                   const auto* wide = state_->profile_values(tensorName, profileIndex, select);
                   if (wide == nullptr) return nullptr;
                   for (const int64_t value : *wide)
                     if (!std::in_range<int32_t>(value))
                       refuse("a value of '" + std::string(tensorName) + "' is " +
                              std::to_string(value) + ", which needs 64 bits");
                   // Every question has an answer of its own, which stays where it is.
                   const std::lock_guard lock(state_->mutex);
                   std::vector<int32_t>& narrow =
                       values_[{tensorName, profileIndex, static_cast<int>(select) % 3}];
                   if (narrow.empty()) narrow.assign(wide->begin(), wide->end());
                   return narrow.data();
                 });
}

}  // namespace octet_trt
