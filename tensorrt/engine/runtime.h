// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensorrt/shared/handed.h"
#include "tensorrt/shared/report.h"
#include "tensorrt/shared/types.h"

namespace octet_trt {

class Runtime final : public Handed<IRuntime> {
 public:
  explicit Runtime(ILogger* logger) : reporter_{logger, nullptr} {}
#if NV_TENSORRT_MAJOR < 10
  ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size,
                                     void* pluginFactory) noexcept override;
#else
  IRuntime* getPImpl() noexcept override { return this; }
  ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) noexcept override;
  ICudaEngine* deserializeCudaEngineV2(IStreamReaderV2& streamReader) noexcept override;
  void setPluginRegistryParent(IPluginRegistry* parent) noexcept override;
#endif
  ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size) noexcept override;
  void setDLACore(int32_t dlaCore) noexcept override;
  int32_t getDLACore() const noexcept override;
  int32_t getNbDLACores() const noexcept override;
  void setGpuAllocator(IGpuAllocator* allocator) noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;
  ILogger* getLogger() const noexcept override;
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override;
  void setTemporaryDirectory(char const* path) noexcept override;
  char const* getTemporaryDirectory() const noexcept override;
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept override;
  TempfileControlFlags getTempfileControlFlags() const noexcept override;
  IPluginRegistry& getPluginRegistry() noexcept override;
  IRuntime* loadRuntime(char const* path) noexcept override;
  void setEngineHostCodeAllowed(bool allowed) noexcept override;
  bool getEngineHostCodeAllowed() const noexcept override;

 private:
  Reporter reporter_;
  int32_t dla_core_ = -1;
  int32_t max_threads_ = 1;
  std::string temporary_ = "/tmp";
  TempfileControlFlags tempfiles_ = 3;
  bool host_code_ = false;
};

#if NV_TENSORRT_MAJOR >= 10
// Of bytes that may be a plan.
EngineValidity plan_validity(void const* blob, int64_t size, uint64_t* diagnostics) noexcept;
#endif

}  // namespace octet_trt
