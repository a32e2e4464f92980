// SPDX-License-Identifier: Apache-2.0
// Objects of the library as a usual program has them, made when a function of theirs is to be called, and what is done with them afterwards.
#pragma once

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "NvInfer.h"
#include "NvOnnxConfig.h"
#include "NvOnnxParser.h"
#include "plain_v3.h"

namespace hostile {

using namespace nvinfer1;        // NOLINT: the names of the table
using namespace nvinfer1::apiv;  // NOLINT
using nvonnxparser::IOnnxConfig;
using nvonnxparser::IParser;
using nvonnxparser::IParserError;
using nvonnxparser::IParserRefitter;

template <class T>
using Own = std::unique_ptr<T>;

class Logger final : public ILogger {
 public:
  void log(Severity severity, char const* text) noexcept override {
    if (severity <= Severity::kERROR) ++errors;
    if (severity <= Severity::kWARNING) last = text;
  }
  int errors = 0;
  std::string last;
};

// What the plugin registry tells, which has no logger: as if `logger` had been told.
class Recorder final : public IErrorRecorder {
 public:
  explicit Recorder(Logger& logger) : logger_(logger) {}
  int32_t getNbErrors() const noexcept override { return logger_.errors; }
  ErrorCode getErrorCode(int32_t) const noexcept override { return ErrorCode::kUNSPECIFIED_ERROR; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return logger_.last.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override {}
  bool reportError(ErrorCode, ErrorDesc text) noexcept override {
    logger_.log(ILogger::Severity::kERROR, text);
    return true;
  }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 1; }

 private:
  Logger& logger_;
};

class Writer final : public IStreamWriter {
 public:
  int64_t write(void const*, int64_t count) override { return count; }
};

class Reader final : public IStreamReader {
 public:
  int64_t read(void*, int64_t) override { return 0; }
};

class ReaderV2 final : public IStreamReaderV2 {
 public:
  int64_t read(void*, int64_t, cudaStream_t) noexcept override { return 0; }
  bool seek(int64_t, SeekPosition) noexcept override { return true; }
};

class Resource final : public IPluginResource {
 public:
  int32_t release() noexcept override { return 0; }
  IPluginResource* clone() noexcept override { return new Resource; }
};

// y = x. `shapes` is called where the library asks for sizes, with its tables of sizes; `attached` with what a plugin is given.
class Plugin final : public trt_test::PlainV3<IPluginV3OneBuildV2> {
 public:
  using Shapes = std::function<void(IExprBuilder&, const IDimensionExpr&)>;
  using Attached = std::function<void(IPluginResourceContext&)>;
  static Shapes& shapes();
  static Attached& attached();

  IPluginV3* clone() noexcept override { return new Plugin; }
  char const* getPluginName() const noexcept override { return "Same_V3"; }
  int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t,
                          DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override {
    outputs[0] = inputs[0];
    if (shapes()) shapes()(builder, *inputs[0].d[0]);
    return 0;
  }
  bool supportsFormatCombination(int32_t, DynamicPluginTensorDesc const* descs, int32_t,
                                 int32_t) noexcept override {
    return descs[0].desc.type == DataType::kFLOAT && descs[0].desc.format == TensorFormat::kLINEAR;
  }
  int32_t getAliasedInput(int32_t) noexcept override { return -1; }
  int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    if (attached()) attached()(*context);
    return clone();
  }
};

class Creator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const*,
                          TensorRTPhase) noexcept override {
    return new Plugin;
  }
  PluginFieldCollection const* getFieldNames() noexcept override { return &fields_; }
  AsciiChar const* getPluginName() const noexcept override { return "Same_V3"; }
  AsciiChar const* getPluginVersion() const noexcept override { return "1"; }
  AsciiChar const* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection fields_{0, nullptr};
};

// y = x of the elder kind.
class ElderPlugin final : public IPluginV2DynamicExt {
 public:
  IPluginV2DynamicExt* clone() const noexcept override { return new ElderPlugin; }
  DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t, PluginTensorDesc const* descs, int32_t,
                                 int32_t) noexcept override {
    return descs[0].type == DataType::kFLOAT && descs[0].format == TensorFormat::kLINEAR;
  }
  void configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 0;
  }
  DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override {
    return types[0];
  }
  char const* getPluginType() const noexcept override { return "Same_V2"; }
  char const* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(char const*) noexcept override {}
  char const* getPluginNamespace() const noexcept override { return ""; }
};

class ElderCreator final : public IPluginCreator {
 public:
  AsciiChar const* getPluginName() const noexcept override { return "Same_V2"; }
  AsciiChar const* getPluginVersion() const noexcept override { return "1"; }
  PluginFieldCollection const* getFieldNames() noexcept override { return &fields_; }
  IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const*) noexcept override {
    return new ElderPlugin;
  }
  IPluginV2* deserializePlugin(AsciiChar const*, void const*, size_t) noexcept override {
    return new ElderPlugin;
  }
  void setPluginNamespace(AsciiChar const*) noexcept override {}
  AsciiChar const* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection fields_{0, nullptr};
};

// What a program has. Each is made when it is first asked for, and all are destroyed in the order that TensorRT's documentation asks for.
class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  IBuilder& builder();
  INetworkDefinition& network();
  IBuilderConfig& config();
  ITensor& input();     // usual, 1 x 4 x 8 x 8
  ITensor& integers();  // i, four numbers
  ITensor& foreign();   // of another network
  ILoop& loop();
  IIfConditional& conditional();
  IAttention& attention();
  IOptimizationProfile& profile();
  ITimingCache& timing_cache();
  IParser& parser();
  const std::vector<char>& plan();
  IRuntime& runtime();
  ICudaEngine& engine();
  IExecutionContext& context();
  IRefitter& refitter();
  IParserRefitter& parser_refitter();
  // Kept until the end.
  template <class T>
  T& keep(T* made) {
    kept_.push_back(std::shared_ptr<T>(made));
    return *made;
  }
  // A layer of the network, whose first output is the network's if nothing fails.
  template <class Layer>
  Layer& layer(Layer* made) {
    if (layer_ == nullptr) layer_ = made;
    return *made;
  }

  // A build or a run of what there is, whatever comes of it.
  void use();

  Logger logger;
  Recorder recorder{logger};
  // Memory that calls may read and write.
  std::vector<char> memory = std::vector<char>(1 << 16);
  float values[1024] = {};
  const char* texts[16];
  ITensor* tensors[8];
  void* bindings[4];
  const IDimensionExpr* size = nullptr;  // within a call of a plugin

 private:
  ICudaEngine* built(INetworkDefinition& network, IBuilderConfig& config);

  std::vector<std::shared_ptr<void>> kept_;
  Own<IBuilder> builder_;
  Own<INetworkDefinition> network_, other_;
  Own<IBuilderConfig> config_;
  Own<ITimingCache> timing_cache_;
  Own<IParser> parser_;
  Own<IRuntime> runtime_;
  Own<ICudaEngine> engine_;
  Own<IExecutionContext> context_;
  Own<IRefitter> refitter_;
  Own<IParserRefitter> parser_refitter_;
  std::vector<char> plan_;
  ITensor* input_ = nullptr;
  ITensor* integers_ = nullptr;
  ITensor* foreign_ = nullptr;
  ILayer* layer_ = nullptr;
};

}  // namespace hostile
