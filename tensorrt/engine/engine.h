// SPDX-License-Identifier: Apache-2.0
// An engine in memory. What its contexts and inspectors need outlives it, as does what it needs of its runtime.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "octet/engine.h"
#include "octet/tuning.h"
#include "tensorrt/engine/plan_info.h"
#include "tensorrt/shared/handed.h"
#include "tensorrt/shared/report.h"

namespace octet_trt {

// The plugin of a plan by its creator; without one it lives on where its network does. Throws octet::Error.
std::shared_ptr<LivePlugin> live_again(const PluginRecord& plugin);

// Shared by an engine, its contexts and its inspectors. A refit replaces `engine`.
struct EngineState {
  // Makes the plugins of the plan. Throws octet::Error.
  EngineState(octet::Engine loaded, PlanInfo told);

  // -1 for a name that no binding has.
  int binding_index(const char* name) const;
  const BindingInfo* binding(const char* name) const;
  // Of profile `index`, as clients write them; null where it says nothing.
  const std::vector<int64_t>* profile_shape(const std::string& name, int32_t index,
                                            OptProfileSelector select) const;
  const std::vector<int64_t>* profile_values(const char* name, int32_t index,
                                             OptProfileSelector select) const;
  // An input whose numbers are sizes or tell them: profiles have values for it.
  bool is_shape_input(const char* name) const {
    return profile_values(name, 0, OptProfileSelector::kOPT) != nullptr;
  }
  // What layers are shown for where no context says: the inputs at kOPT of the first profile; empty where it does not tell all.
  std::vector<octet::Shape> usual_shapes() const;
  // The choices of kernels that the plan carries, read once; null: none.
  std::shared_ptr<const octet::Tuning> tuning() const;

  LivePlugins plugins;  // end after what runs them
  octet::Engine engine;
  PlanInfo info;
  int64_t changes = 0;  // refits so far
  mutable std::mutex mutex;

 private:
  mutable std::once_flag tuning_is_read_;
  mutable std::shared_ptr<const octet::Tuning> tuning_;
};

class Engine final : public Handed<ICudaEngine> {
 public:
  Engine(std::shared_ptr<EngineState> state, Reporter told);
  Dims getTensorShape(char const* tensorName) const noexcept override;
  DataType getTensorDataType(char const* tensorName) const noexcept override;
  int32_t getNbLayers() const noexcept override;
  IHostMemory* serialize() const noexcept override;
  TensorLocation getTensorLocation(char const* tensorName) const noexcept override;
  bool isShapeInferenceIO(char const* tensorName) const noexcept override;
  TensorIOMode getTensorIOMode(char const* tensorName) const noexcept override;
  int32_t getTensorBytesPerComponent(char const* tensorName) const noexcept override;
  int32_t getTensorComponentsPerElement(char const* tensorName) const noexcept override;
  TensorFormat getTensorFormat(char const* tensorName) const noexcept override;
  char const* getTensorFormatDesc(char const* tensorName) const noexcept override;
  int32_t getTensorVectorizedDim(char const* tensorName) const noexcept override;
  int32_t OCTET_TRT_V2(getTensorBytesPerComponent)(char const* tensorName,
                                                   int32_t profileIndex) const noexcept override;
  int32_t OCTET_TRT_V2(getTensorComponentsPerElement)(char const* tensorName,
                                                      int32_t profileIndex) const noexcept override;
  TensorFormat OCTET_TRT_V2(getTensorFormat)(char const* tensorName,
                                             int32_t profileIndex) const noexcept override;
  char const* OCTET_TRT_V2(getTensorFormatDesc)(char const* tensorName,
                                                int32_t profileIndex) const noexcept override;
  int32_t OCTET_TRT_V2(getTensorVectorizedDim)(char const* tensorName,
                                               int32_t profileIndex) const noexcept override;
  char const* getName() const noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override;
  Dims getProfileShape(char const* tensorName, int32_t profileIndex,
                       OptProfileSelector select) const noexcept override;
  EngineCapability getEngineCapability() const noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;
  bool hasImplicitBatchDimension() const noexcept override;
  TacticSources getTacticSources() const noexcept override;
  ProfilingVerbosity getProfilingVerbosity() const noexcept override;
  IEngineInspector* createEngineInspector() const noexcept override;
  int32_t getNbIOTensors() const noexcept override;
  char const* getIOTensorName(int32_t index) const noexcept override;
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override;
  int32_t getNbAuxStreams() const noexcept override;
  bool isRefittable() const noexcept override;
  std::size_t getDeviceMemorySize() const noexcept override;
  IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy) noexcept override;
  ICudaEngine* getPImpl() noexcept override { return this; }
  IRefitter* createRefitter(ILogger& logger) noexcept override;
  IExecutionContext* createExecutionContextWithRuntimeConfig(
      IRuntimeConfig* config) noexcept override;
  IRuntimeConfig* createRuntimeConfig() noexcept override;
  ISerializationConfig* createSerializationConfig() noexcept override;
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept override;
  std::size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept override;
  int64_t getDeviceMemorySizeV2() const noexcept override;
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept override;
  int64_t const* getProfileTensorValuesV2(char const* tensorName, int32_t profileIndex,
                                          OptProfileSelector select) const noexcept override;
  int64_t getStreamableWeightsSize() const noexcept override;
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudgetV2() const noexcept override;
  int64_t getWeightStreamingAutomaticBudget() const noexcept override;
  int64_t getWeightStreamingScratchMemorySize() const noexcept override;
  int64_t getWeightStreamingBudget() const noexcept override;
  bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept override;
  int64_t getMinimumWeightStreamingBudget() const noexcept override;
  bool isDebugTensor(char const* name) const noexcept override;
  char const* getAliasedInputTensor(char const* tensorName) const noexcept override;
  int64_t getEngineStat(EngineStat stat) const noexcept override;
#else
  IExecutionContext* createExecutionContext() noexcept override;
  int32_t getNbBindings() const noexcept override;
  int32_t getBindingIndex(char const* name) const noexcept override;
  char const* getBindingName(int32_t bindingIndex) const noexcept override;
  bool bindingIsInput(int32_t bindingIndex) const noexcept override;
  Dims getBindingDimensions(int32_t bindingIndex) const noexcept override;
  DataType getBindingDataType(int32_t bindingIndex) const noexcept override;
  int32_t getMaxBatchSize() const noexcept override;
  TensorLocation getLocation(int32_t bindingIndex) const noexcept override;
  int32_t getBindingBytesPerComponent(int32_t bindingIndex) const noexcept override;
  int32_t getBindingComponentsPerElement(int32_t bindingIndex) const noexcept override;
  TensorFormat getBindingFormat(int32_t bindingIndex) const noexcept override;
  char const* getBindingFormatDesc(int32_t bindingIndex) const noexcept override;
  int32_t getBindingVectorizedDim(int32_t bindingIndex) const noexcept override;
  Dims getProfileDimensions(int32_t bindingIndex, int32_t profileIndex,
                            OptProfileSelector select) const noexcept override;
  int32_t const* getProfileShapeValues(int32_t profileIndex, int32_t inputIndex,
                                       OptProfileSelector select) const noexcept override;
  bool isShapeBinding(int32_t bindingIndex) const noexcept override;
  bool isExecutionBinding(int32_t bindingIndex) const noexcept override;
#endif
  int32_t const* getProfileTensorValues(char const* tensorName, int32_t profileIndex,
                                        OptProfileSelector select) const noexcept override;

  const std::shared_ptr<EngineState>& state() const { return state_; }
  Reporter reporter;
  const Watched<const Engine> watched{this};

 private:
  std::shared_ptr<EngineState> state_;
  // By tensor, profile and end of its range.
  mutable std::map<std::tuple<std::string, int32_t, int>, std::vector<int32_t>> values_;
  mutable std::map<std::string, std::string> texts_;
  mutable int32_t layers_ = -1;
  mutable int64_t memory_ = -1;
};

ICudaEngine* make_engine(const octet::Engine& engine, const Reporter& reporter);

int32_t components_per_element(const BindingInfo& binding);
std::string format_text(const BindingInfo& binding);

}  // namespace octet_trt
