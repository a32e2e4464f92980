// SPDX-License-Identifier: Apache-2.0
// The headers as C++11, initialized and derived from as clients do. It is compiled, not run.
#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "NvInferRuntimeCommon.h"
#include "NvOnnxConfig.h"
#include "NvOnnxParser.h"
#if NV_TENSORRT_MAJOR < 10
#include "NvInferConsistency.h"
#include "NvInferSafeRuntime.h"
#endif

namespace {

const nvinfer1::Weights kNoWeights{nvinfer1::DataType::kFLOAT, nullptr, 0};
const nvinfer1::Dims kSizes{3, {1, 28, 28}};
const nvinfer1::Permutation kOrder{{1, 0, 2}};
const nvinfer1::PluginTensorDesc kTensor{
    {1, {2}}, nvinfer1::DataType::kFLOAT, nvinfer1::TensorFormat::kLINEAR, 1.0F};

// With noexcept, as the clients of today write it.
class Logger : public nvinfer1::ILogger {
 public:
  void log(Severity severity, nvinfer1::AsciiChar const* msg) noexcept override {
    if (severity <= Severity::kERROR) last = msg;
  }
  char const* last = nullptr;
};

// Without, as they wrote it for TensorRT 7.
class Profiler : public nvinfer1::IProfiler {
 public:
  void reportLayerTime(const char*, float ms) override { total += ms; }
  float total = 0;
};

class Creator : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const override { return "Test"; }
  const char* getPluginVersion() const override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() override { return &fields; }
  nvinfer1::IPluginV2* createPlugin(const char*, const nvinfer1::PluginFieldCollection*) override {
    return nullptr;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void*, size_t) override {
    return nullptr;
  }
  void setPluginNamespace(const char*) override {}
  const char* getPluginNamespace() const override { return ""; }
  nvinfer1::PluginFieldCollection fields{0, nullptr};
};

REGISTER_TENSORRT_PLUGIN(Creator);

}  // namespace

nvinfer1::IBuilder* make_a_builder();
nvinfer1::IBuilder* make_a_builder() {
  static Logger logger;
  static Profiler profiler;
  (void)profiler;
  (void)kNoWeights;
  (void)kSizes;
  (void)kOrder;
  (void)kTensor;
  nvinfer1::IBuilder* builder = nvinfer1::createInferBuilder(logger);
#if NV_TENSORRT_MAJOR < 10
  if (builder != nullptr && builder->getNbDLACores() > 0) builder->destroy();
#endif
  return builder;
}
