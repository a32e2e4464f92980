// SPDX-License-Identifier: Apache-2.0
// The C functions that clients open by name, and what headers make of them.
#pragma once

#include "trt_builder.h"
#include "trt_engine.h"
#include "trt_plugin_registry.h"

extern "C" {
void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept;
void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept;
void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept;
nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;
#if NV_TENSORRT_MAJOR >= 10
nvinfer1::IPluginRegistry* getBuilderPluginRegistry(nvinfer1::EngineCapability capability) noexcept;
nvinfer1::IPluginRegistry* getBuilderSafePluginRegistry(
    nvinfer1::EngineCapability capability) noexcept;
void setInternalLibraryPath(char const* path) noexcept;
int32_t getInferLibMajorVersion() noexcept;
int32_t getInferLibMinorVersion() noexcept;
int32_t getInferLibPatchVersion() noexcept;
int32_t getInferLibBuildVersion() noexcept;
#endif
int32_t getInferLibVersion() noexcept;
nvinfer1::ILogger* getLogger() noexcept;
// Octet's own: within a calibrator's getBatch(), the bytes that are read from the binding of an input; -1 elsewhere.
int64_t octetCalibrationBytes(int32_t binding) noexcept;
}

namespace nvinfer1 {
namespace {

inline IBuilder* createInferBuilder(ILogger& logger) noexcept {
  return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, NV_TENSORRT_VERSION));
}
inline IRuntime* createInferRuntime(ILogger& logger) noexcept {
  return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, NV_TENSORRT_VERSION));
}
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept {
  return static_cast<IRefitter*>(
      createInferRefitter_INTERNAL(&engine, &logger, NV_TENSORRT_VERSION));
}

}  // namespace
}  // namespace nvinfer1
