// SPDX-License-Identifier: Apache-2.0
// The C functions of libnvinfer.
#include "tensorrt/builder/builder.h"
#include "tensorrt/builder/calibration.h"
#include "tensorrt/builder/refitter.h"
#include "tensorrt/engine/runtime.h"
#include "tensorrt/exports/bridge.h"
#include "tensorrt/parser/parser.h"
#include "tensorrt/plugins/registry.h"
#include "tensorrt/shared/handed.h"

#define OCTET_TRT_EXPORT __attribute__((visibility("default")))

namespace {

// What a program hands over; where it is null that is told.
bool is_there(const void* object, const char* what, void* logger) {
  if (object != nullptr) return true;
  auto* own = static_cast<nvinfer1::ILogger*>(logger);
  const octet_trt::Reporter reporter{own == nullptr ? &octet_trt::error_output() : own, nullptr};
  reporter.error(octet_trt::ErrorCode::kINVALID_ARGUMENT, std::string("a null ") + what);
  return false;
}

// A program of another level has other numbers for the same names: better no object than a wrong one.
bool is_of_level(void* logger, int32_t version) {
  auto* own = static_cast<nvinfer1::ILogger*>(logger);
  const int32_t major = version >= 10000 ? version / 10000 : version / 1000;
  if (!is_there(own, "logger", nullptr)) return false;
  const octet_trt::Reporter reporter{own, nullptr};
#if NV_TENSORRT_MAJOR >= 10
  if (version / 100 > NV_TENSORRT_VERSION / 100 && major == NV_TENSORRT_MAJOR) {
    reporter.warn("the program was compiled for TensorRT " + std::to_string(major) + "." +
                  std::to_string(version / 100 % 100) +
                  ", and this library knows the functions of 10.16: later ones are refused");
  }
#endif
  if (major == NV_TENSORRT_MAJOR) {
    octet_trt::remember_logger(own);
    return true;
  }
  reporter.error(octet_trt::ErrorCode::kINVALID_ARGUMENT,
                 "the program was compiled for TensorRT " + std::to_string(major) +
                     ", and this library is of level " + std::to_string(NV_TENSORRT_MAJOR));
  return false;
}

}  // namespace

extern "C" {

OCTET_TRT_EXPORT void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  if (!is_of_level(logger, version)) return nullptr;
  return static_cast<nvinfer1::IBuilder*>(
      new octet_trt::Builder(static_cast<nvinfer1::ILogger*>(logger), version));
}

OCTET_TRT_EXPORT void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  if (!is_of_level(logger, version)) return nullptr;
  return static_cast<nvinfer1::IRuntime*>(
      new octet_trt::Runtime(static_cast<nvinfer1::ILogger*>(logger)));
}

OCTET_TRT_EXPORT void* createInferRefitter_INTERNAL(void* engine, void* logger,
                                                    int32_t version) noexcept {
  if (!is_of_level(logger, version) || !is_there(engine, "engine", logger)) return nullptr;
  return octet_trt::make_refitter(*static_cast<nvinfer1::ICudaEngine*>(engine),
                                  static_cast<nvinfer1::ILogger*>(logger));
}

// What libnvonnxparser hands on: parsers look into networks.
OCTET_TRT_EXPORT void* octetCreateOnnxParser(void* network, void* logger) noexcept {
  if (!is_there(network, "network", logger)) return nullptr;
  auto* own = static_cast<nvinfer1::INetworkDefinition*>(network);
  return static_cast<nvonnxparser::IParser*>(new octet_trt::Parser(
      static_cast<octet_trt::Network&>(*own), static_cast<nvinfer1::ILogger*>(logger)));
}

#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_EXPORT void* octetCreateOnnxRefitter(void* refitter, void* logger) noexcept {
  if (!is_there(refitter, "refitter", logger)) return nullptr;
  return octet_trt::make_parser_refitter(*static_cast<nvinfer1::IRefitter*>(refitter),
                                         static_cast<nvinfer1::ILogger*>(logger));
}
#endif

OCTET_TRT_EXPORT nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return &octet_trt::registry();
}

OCTET_TRT_EXPORT int32_t getInferLibVersion() noexcept { return NV_TENSORRT_VERSION; }
OCTET_TRT_EXPORT nvinfer1::ILogger* getLogger() noexcept { return octet_trt::remembered_logger(); }
OCTET_TRT_EXPORT const octet_trt_bridge* octetTrtBridge() noexcept { return &octet_trt::bridge(); }
OCTET_TRT_EXPORT int64_t octetCalibrationBytes(int32_t binding) noexcept {
  return octet_trt::asked_bytes(binding);
}

#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_EXPORT nvinfer1::IPluginRegistry* getBuilderPluginRegistry(
    nvinfer1::EngineCapability) noexcept {
  return &octet_trt::registry();
}
OCTET_TRT_EXPORT nvinfer1::IPluginRegistry* getBuilderSafePluginRegistry(
    nvinfer1::EngineCapability) noexcept {
  return &octet_trt::registry();
}
// Where TensorRT would look for parts of itself; there are none.
OCTET_TRT_EXPORT void setInternalLibraryPath(char const*) noexcept {}
OCTET_TRT_EXPORT int32_t octetEngineValidity(void const* blob, int64_t blobSize,
                                             uint64_t* diagnostics) noexcept {
  return static_cast<int32_t>(octet_trt::plan_validity(blob, blobSize, diagnostics));
}
OCTET_TRT_EXPORT int32_t getInferLibMajorVersion() noexcept { return NV_TENSORRT_MAJOR; }
OCTET_TRT_EXPORT int32_t getInferLibMinorVersion() noexcept { return NV_TENSORRT_MINOR; }
OCTET_TRT_EXPORT int32_t getInferLibPatchVersion() noexcept { return NV_TENSORRT_PATCH; }
OCTET_TRT_EXPORT int32_t getInferLibBuildVersion() noexcept { return NV_TENSORRT_BUILD; }
#endif

}  // extern "C"
