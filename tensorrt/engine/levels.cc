// SPDX-License-Identifier: Apache-2.0
// What an engine answers at one of the levels alone.
#include "tensorrt/engine/context.h"
#include "tensorrt/engine/engine.h"
#include "tensorrt/shared/host_memory.h"

namespace octet_trt {

#if NV_TENSORRT_MAJOR >= 10
namespace {

class SerializationConfig final : public Handed<ISerializationConfig> {
 public:
  explicit SerializationConfig(Reporter told) : reporter_(told) {}
  bool setFlags(SerializationFlags flags) noexcept override {
    flags_ = flags;
    return true;
  }
  SerializationFlags getFlags() const noexcept override { return flags_; }
  bool clearFlag(SerializationFlag flag) noexcept override {
    const uint32_t one = bit("clearFlag", flag);
    flags_ &= ~one;
    return one != 0;
  }
  bool setFlag(SerializationFlag flag) noexcept override {
    const uint32_t one = bit("setFlag", flag);
    flags_ |= one;
    return one != 0;
  }
  bool getFlag(SerializationFlag flag) const noexcept override {
    return (flags_ & bit("getFlag", flag)) != 0;
  }

 private:
  // Nowhere for a flag that there is not.
  uint32_t bit(const char* function, SerializationFlag flag) const noexcept {
    return guarded(reporter_, "ISerializationConfig", uint32_t{0}, [&] {
      need_right(flag, function);
      return 1U << static_cast<uint32_t>(flag);
    });
  }
  Reporter reporter_;
  SerializationFlags flags_ = 0;
};

}  // namespace

bool Engine::hasImplicitBatchDimension() const noexcept { return false; }

IExecutionContext* Engine::createExecutionContext(
    ExecutionContextAllocationStrategy strategy) noexcept {
  return guarded(reporter, "ICudaEngine::createExecutionContext",
                 static_cast<IExecutionContext*>(nullptr), [&]() -> IExecutionContext* {
                   need_right(strategy, "strategy");
                   return new Context(*this, strategy);
                 });
}

IExecutionContext* Engine::createExecutionContextWithRuntimeConfig(
    IRuntimeConfig* config) noexcept {
  if (config == nullptr) return createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC);
  return createExecutionContext(config->getExecutionContextAllocationStrategy());
}

IRuntimeConfig* Engine::createRuntimeConfig() noexcept { return new RuntimeConfig(reporter); }
ISerializationConfig* Engine::createSerializationConfig() noexcept {
  return new SerializationConfig(reporter);
}
IHostMemory* Engine::serializeWithConfig(ISerializationConfig& config) const noexcept {
  return guarded(reporter, "ICudaEngine::serializeWithConfig", static_cast<IHostMemory*>(nullptr),
                 [&] {
                   need(&config, "configuration");
                   return serialize();
                 });
}

std::size_t Engine::getDeviceMemorySizeForProfile(int32_t) const noexcept {
  return getDeviceMemorySize();
}
int64_t Engine::getDeviceMemorySizeV2() const noexcept {
  return static_cast<int64_t>(getDeviceMemorySize());
}
int64_t Engine::getDeviceMemorySizeForProfileV2(int32_t) const noexcept {
  return getDeviceMemorySizeV2();
}

int64_t const* Engine::getProfileTensorValuesV2(char const* tensorName, int32_t profileIndex,
                                                OptProfileSelector select) const noexcept {
  return guarded(reporter, "ICudaEngine::getProfileTensorValuesV2",
                 static_cast<int64_t const*>(nullptr), [&] {
                   need_right(select, "end of a range");
                   const auto* values = state_->profile_values(tensorName, profileIndex, select);
                   return values == nullptr ? nullptr : values->data();
                 });
}

// Weights lie in the host's memory, which is the device's: none is streamed.
int64_t Engine::getStreamableWeightsSize() const noexcept { return 0; }
bool Engine::setWeightStreamingBudgetV2(int64_t) noexcept { return false; }
int64_t Engine::getWeightStreamingBudgetV2() const noexcept { return 0; }
int64_t Engine::getWeightStreamingAutomaticBudget() const noexcept { return 0; }
int64_t Engine::getWeightStreamingScratchMemorySize() const noexcept { return 0; }
int64_t Engine::getWeightStreamingBudget() const noexcept { return 0; }
bool Engine::setWeightStreamingBudget(int64_t) noexcept { return false; }
int64_t Engine::getMinimumWeightStreamingBudget() const noexcept { return 0; }

bool Engine::isDebugTensor(char const* name) const noexcept {
  for (const std::string& tensor : state_->info.debug_tensors)
    if (name != nullptr && tensor == name) return true;
  return false;
}
char const* Engine::getAliasedInputTensor(char const*) const noexcept { return nullptr; }
int64_t Engine::getEngineStat(EngineStat stat) const noexcept {
  return guarded(reporter, "ICudaEngine::getEngineStat", int64_t{-1}, [&] {
    need_right(stat, "number");
    return int64_t{-1};
  });
}
#else
bool Engine::hasImplicitBatchDimension() const noexcept { return state_->info.implicit_batch; }

IExecutionContext* Engine::createExecutionContext() noexcept {
  return guarded(reporter, "ICudaEngine::createExecutionContext",
                 static_cast<IExecutionContext*>(nullptr), [&]() -> IExecutionContext* {
                   return new Context(*this, ExecutionContextAllocationStrategy::kSTATIC);
                 });
}

// Bindings by number: those of the first profile, then the same of every further one.
int32_t Engine::getNbBindings() const noexcept {
  return getNbIOTensors() * getNbOptimizationProfiles();
}
int32_t Engine::getBindingIndex(char const* name) const noexcept {
  return state_->binding_index(name);
}
char const* Engine::getBindingName(int32_t bindingIndex) const noexcept {
  if (bindingIndex < 0 || bindingIndex >= getNbBindings()) return nullptr;
  return getIOTensorName(bindingIndex % getNbIOTensors());
}
bool Engine::bindingIsInput(int32_t bindingIndex) const noexcept {
  return getTensorIOMode(getBindingName(bindingIndex)) == TensorIOMode::kINPUT;
}
Dims Engine::getBindingDimensions(int32_t bindingIndex) const noexcept {
  return getTensorShape(getBindingName(bindingIndex));
}
DataType Engine::getBindingDataType(int32_t bindingIndex) const noexcept {
  return getTensorDataType(getBindingName(bindingIndex));
}
int32_t Engine::getMaxBatchSize() const noexcept {
  return static_cast<int32_t>(state_->info.max_batch);
}
TensorLocation Engine::getLocation(int32_t bindingIndex) const noexcept {
  return getTensorLocation(getBindingName(bindingIndex));
}
int32_t Engine::getBindingBytesPerComponent(int32_t bindingIndex) const noexcept {
  return getTensorBytesPerComponent(getBindingName(bindingIndex));
}
int32_t Engine::getBindingComponentsPerElement(int32_t bindingIndex) const noexcept {
  return getTensorComponentsPerElement(getBindingName(bindingIndex));
}
TensorFormat Engine::getBindingFormat(int32_t bindingIndex) const noexcept {
  return getTensorFormat(getBindingName(bindingIndex));
}
char const* Engine::getBindingFormatDesc(int32_t bindingIndex) const noexcept {
  return getTensorFormatDesc(getBindingName(bindingIndex));
}
int32_t Engine::getBindingVectorizedDim(int32_t bindingIndex) const noexcept {
  return getTensorVectorizedDim(getBindingName(bindingIndex));
}
Dims Engine::getProfileDimensions(int32_t bindingIndex, int32_t profileIndex,
                                  OptProfileSelector select) const noexcept {
  return getProfileShape(getBindingName(bindingIndex), profileIndex, select);
}
int32_t const* Engine::getProfileShapeValues(int32_t profileIndex, int32_t inputIndex,
                                             OptProfileSelector select) const noexcept {
  return getProfileTensorValues(getBindingName(inputIndex), profileIndex, select);
}
bool Engine::isShapeBinding(int32_t) const noexcept { return false; }
bool Engine::isExecutionBinding(int32_t bindingIndex) const noexcept {
  return getBindingName(bindingIndex) != nullptr;
}
#endif

}  // namespace octet_trt
