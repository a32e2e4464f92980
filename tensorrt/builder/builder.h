// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "octet/engine.h"
#include "tensorrt/builder/config.h"
#include "tensorrt/network/network.h"

namespace octet_trt {

class Builder final : public Handed<IBuilder> {
 public:
  // `client`: the version that the program was compiled with.
  Builder(ILogger* logger, int32_t client) : reporter{logger, nullptr}, client_(client) {}
  bool platformHasFastFp16() const noexcept override;
  bool platformHasFastInt8() const noexcept override;
  int32_t getMaxDLABatchSize() const noexcept override;
  int32_t getNbDLACores() const noexcept override;
  void setGpuAllocator(IGpuAllocator* allocator) noexcept override;
  IBuilderConfig* createBuilderConfig() noexcept override;
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept override;
  IOptimizationProfile* createOptimizationProfile() noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;
  void reset() noexcept override;
  bool platformHasTf32() const noexcept override;
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                      IBuilderConfig& config) noexcept override;
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network,
                                     IBuilderConfig& config) noexcept override;
  bool isNetworkSupported(INetworkDefinition const& network,
                          IBuilderConfig const& config) const noexcept override;
  ILogger* getLogger() const noexcept override;
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override;
  IPluginRegistry& getPluginRegistry() noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept override;
  IHostMemory* buildSerializedNetworkWithKernelText(INetworkDefinition& network,
                                                    IBuilderConfig& config,
                                                    IHostMemory*& kernelText) noexcept override;
#else
  void setMaxBatchSize(int32_t batchSize) noexcept override;
  int32_t getMaxBatchSize() const noexcept override;
#endif

  int threads() const;
  Reporter reporter;

 private:
  octet::Engine built(INetworkDefinition* network, IBuilderConfig* config) const;

  std::vector<std::unique_ptr<Profile>> profiles_;  // clients never delete these
  int32_t client_;
  int32_t max_threads_ = 0;
  int32_t max_batch_ = 1;
};

}  // namespace octet_trt
