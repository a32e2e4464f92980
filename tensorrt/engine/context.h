// SPDX-License-Identifier: Apache-2.0
// One run at a time of an engine: sizes and addresses of its bindings, and what listens.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "octet/tensorrt_inspector.h"
#include "tensorrt/engine/engine.h"
#include "tensorrt/shared/handed.h"

namespace octet_trt {

#if NV_TENSORRT_MAJOR >= 10
class RuntimeConfig final : public Handed<IRuntimeConfig> {
 public:
  explicit RuntimeConfig(Reporter told) : reporter_(told) {}
  IRuntimeConfig* getPImpl() noexcept override { return this; }
  void setExecutionContextAllocationStrategy(
      ExecutionContextAllocationStrategy strategy) noexcept override {
    guarded(reporter_, "IRuntimeConfig::setExecutionContextAllocationStrategy", false, [&] {
      need_right(strategy, "strategy");
      strategy_ = strategy;
      return true;
    });
  }
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy()
      const noexcept override {
    return strategy_;
  }

 private:
  Reporter reporter_;
  ExecutionContextAllocationStrategy strategy_ = ExecutionContextAllocationStrategy::kSTATIC;
};
#endif

class Context final : public Handed<IExecutionContext> {
 public:
  Context(const Engine& engine, ExecutionContextAllocationStrategy strategy);
  void setDebugSync(bool sync) noexcept override;
  bool getDebugSync() const noexcept override;
  void setProfiler(IProfiler* profiler) noexcept override;
  IProfiler* getProfiler() const noexcept override;
  ICudaEngine const& getEngine() const noexcept override;
  void setName(char const* name) noexcept override;
  char const* getName() const noexcept override;
  void setDeviceMemory(void* memory) noexcept override;
  Dims getTensorStrides(char const* tensorName) const noexcept override;
  int32_t getOptimizationProfile() const noexcept override;
  bool setInputShape(char const* tensorName, Dims const& dims) noexcept override;
  Dims getTensorShape(char const* tensorName) const noexcept override;
  bool allInputDimensionsSpecified() const noexcept override;
  bool allInputShapesSpecified() const noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;
  bool executeV2(void* const* bindings) noexcept override;
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept override;
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept override;
  bool getEnqueueEmitsProfile() const noexcept override;
  bool reportToProfiler() const noexcept override;
  bool setTensorAddress(char const* tensorName, void* data) noexcept override;
  void const* getTensorAddress(char const* tensorName) const noexcept override;
  bool setInputTensorAddress(char const* tensorName, void const* data) noexcept override;
  void* getOutputTensorAddress(char const* tensorName) const noexcept override;
  int32_t inferShapes(int32_t nbMaxNames, char const** tensorNames) noexcept override;
  bool setInputConsumedEvent(cudaEvent_t event) noexcept override;
  cudaEvent_t getInputConsumedEvent() const noexcept override;
  bool setOutputAllocator(char const* tensorName,
                          IOutputAllocator* outputAllocator) noexcept override;
  IOutputAllocator* getOutputAllocator(char const* tensorName) OCTET_TRT_CONST_8 noexcept override;
  int64_t getMaxOutputSize(char const* tensorName) const noexcept override;
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept override;
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept override;
  bool enqueueV3(cudaStream_t stream) noexcept override;
  void setPersistentCacheLimit(std::size_t size) noexcept override;
  std::size_t getPersistentCacheLimit() const noexcept override;
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept override;
  ProfilingVerbosity getNvtxVerbosity() const noexcept override;
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  bool setOutputTensorAddress(char const* tensorName, void* data) noexcept override;
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept override;
  std::size_t updateDeviceMemorySizeForShapes() noexcept override;
  bool setDebugListener(IDebugListener* listener) noexcept override;
  IDebugListener* getDebugListener() noexcept override;
  bool setTensorDebugState(char const* name, bool flag) noexcept override;
  bool setAllTensorsDebugState(bool flag) noexcept override;
  bool getDebugState(char const* name) const noexcept override;
  IRuntimeConfig* getRuntimeConfig() const noexcept override;
  bool setUnfusedTensorsDebugState(bool flag) noexcept override;
  bool getUnfusedTensorsDebugState() const noexcept override;
  IExecutionContext* getPImpl() noexcept override { return this; }
  bool setCommunicator(void* communicator) noexcept override;
#else
  bool execute(int32_t batchSize, void* const* bindings) noexcept override;
  bool enqueue(int32_t batchSize, void* const* bindings, cudaStream_t stream,
               cudaEvent_t* inputConsumed) noexcept override;
  bool enqueueV2(void* const* bindings, cudaStream_t stream,
                 cudaEvent_t* inputConsumed) noexcept override;
  bool setOptimizationProfile(int32_t profileIndex) noexcept override;
  bool setBindingDimensions(int32_t bindingIndex, Dims dimensions) noexcept override;
  Dims getBindingDimensions(int32_t bindingIndex) const noexcept override;
  Dims getStrides(int32_t bindingIndex) const noexcept override;
  bool setInputShapeBinding(int32_t bindingIndex, int32_t const* data) noexcept override;
  bool getShapeBinding(int32_t bindingIndex, int32_t* data) const noexcept override;
#endif

  const Watched<const Context> watched{this};

  // How often the sizes of inputs were set, and what they are where all are known.
  int64_t shape_changes() const { return shape_changes_; }
  std::vector<octet::Shape> known_input_shapes() const;

 private:
  struct Slot {
    std::vector<int64_t> shape;  // of an input, as it was set; empty vector and not `known` before
    bool known = false;
    void* address = nullptr;
    IOutputAllocator* allocator = nullptr;
  };
  using Addresses = std::vector<void*>;

  const Engine& engine() const;
  const BindingInfo& info(size_t i) const { return state_->info.bindings[i]; }
  int index_of(const char* name, const char* where) const;
  bool set_shape(size_t i, const Dims& dims);
  bool is_inside_profile(size_t i, const std::vector<int64_t>& shape) const;
  void use_profile(int32_t index);
  octet::Context& context();
  std::vector<octet::Shape> input_shapes(int64_t batch) const;
  void prepare(int64_t batch);
  octet::Shape shape_of(size_t i) const;
  // Of an output whose sizes rest on numbers of inputs, which lie at their addresses now.
  octet::Shape told_shape_of(size_t i) const;
  bool has_bindings(void* const* bindings, const char* where) const noexcept;
  bool finish(const char* where) noexcept;
#if NV_TENSORRT_MAJOR >= 10
  bool refuse_watching(const char* function, bool asked) noexcept;
#endif
  bool is_on_gpu() const { return device_ != "cpu"; }
  bool run(const Addresses& addresses, int64_t batch, cudaStream_t stream);
  void run_now(const Addresses& addresses, int64_t batch, cudaStream_t stream);
  std::vector<octet::TensorView> input_views(const Addresses& addresses,
                                             const std::vector<octet::Shape>& shapes,
                                             std::vector<octet::Tensor>& staged,
                                             cudaStream_t stream) const;
  std::optional<std::vector<octet::MutableTensorView>> output_views(
      const Addresses& addresses) const;
  void write_outputs(const Addresses& addresses, const std::vector<octet::Tensor>& outputs,
                     cudaStream_t stream);
  octet::Tensor from_client(size_t i, const octet::TensorType& type, const void* memory,
                            cudaStream_t stream) const;
  octet::Tensor on_host(const octet::TensorView& view, cudaStream_t stream) const;
  void* output_address(size_t i, void* given, const octet::TensorType& type);
  void emit_profile(const std::vector<octet::Tensor>& inputs) const;
  Addresses own_addresses() const;
  int64_t default_batch() const { return 1; }

  const Watch<const Engine> engine_;
  mutable std::unique_ptr<const Engine> own_engine_;  // once the client's is gone
  std::shared_ptr<EngineState> state_;
  Reporter reporter_;
#if NV_TENSORRT_MAJOR >= 10
  mutable RuntimeConfig runtime_config_;
#endif
  const std::string device_;  // "cpu", or whose memory bindings are
  // By binding, for views: "cpu", or device_, or another's.
  mutable std::vector<std::string> owners_;
  std::optional<octet::Context> context_;
  int64_t context_changes_ = 0;
  std::vector<Slot> slots_;
  int32_t profile_ = 0;
  std::string name_;
  IProfiler* profiler_ = nullptr;
  bool emits_profile_ = true;
  bool debug_sync_ = false;
  cudaEvent_t consumed_ = nullptr;
  IGpuAllocator* storage_ = nullptr;
#if NV_TENSORRT_MAJOR >= 10
  IDebugListener* listener_ = nullptr;
#endif
  std::size_t cache_limit_ = 0;
  ProfilingVerbosity nvtx_ = ProfilingVerbosity::kLAYER_NAMES_ONLY;
  mutable std::vector<octet::Tensor> last_inputs_;
  std::vector<octet::TensorType>
      planned_types_;  // of outputs, ahead of a run; open where only a run tells
  std::vector<octet::TensorType> output_types_;  // of the last run, or as planned
  bool prepared_ = false;
  int64_t shape_changes_ = 0;
  mutable std::optional<octet::EngineInspector> names_;
  mutable int64_t names_changes_ = 0;
};

}  // namespace octet_trt
