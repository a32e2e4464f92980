// SPDX-License-Identifier: Apache-2.0
// ONNX models into networks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trt_entry.h"

#define NV_ONNX_PARSER_MAJOR 0
#define NV_ONNX_PARSER_MINOR 1
#define NV_ONNX_PARSER_PATCH 0

static constexpr int32_t NV_ONNX_PARSER_VERSION =
    ((NV_ONNX_PARSER_MAJOR * 10000) + (NV_ONNX_PARSER_MINOR * 100) + NV_ONNX_PARSER_PATCH);

using SubGraph_t = std::pair<std::vector<size_t>, bool>;
using SubGraphCollection_t = std::vector<SubGraph_t>;

namespace nvonnxparser {

template <typename T>
constexpr int32_t EnumMax();

enum class ErrorCode : int {
  kSUCCESS = 0,
  kINTERNAL_ERROR = 1,
  kMEM_ALLOC_FAILED = 2,
  kMODEL_DESERIALIZE_FAILED = 3,
  kINVALID_VALUE = 4,
  kINVALID_GRAPH = 5,
  kINVALID_NODE = 6,
  kUNSUPPORTED_GRAPH = 7,
  kUNSUPPORTED_NODE = 8,
#if NV_TENSORRT_MAJOR >= 10
  kUNSUPPORTED_NODE_ATTR = 9,
  kUNSUPPORTED_NODE_INPUT = 10,
  kUNSUPPORTED_NODE_DATATYPE = 11,
  kUNSUPPORTED_NODE_DYNAMIC = 12,
  kUNSUPPORTED_NODE_SHAPE = 13,
  kREFIT_FAILED = 14,
#endif
};
template <>
constexpr int32_t EnumMax<ErrorCode>() {
  return NV_TENSORRT_MAJOR >= 10 ? 15 : 9;
}

using OnnxParserFlags = uint32_t;
enum class OnnxParserFlag : int32_t {
  kNATIVE_INSTANCENORM = 0,
#if NV_TENSORRT_MAJOR >= 10
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
  kREPORT_CAPABILITY_DLA = 2,
  kENABLE_PLUGIN_OVERRIDE = 3,
  kADJUST_FOR_DLA = 4,
#endif
};
template <>
constexpr int32_t EnumMax<OnnxParserFlag>() {
  return NV_TENSORRT_MAJOR >= 10 ? 5 : 1;
}

class IParserError {
 public:
  virtual ErrorCode code() const = 0;
  virtual char const* desc() const = 0;
  virtual char const* file() const = 0;
  virtual int line() const = 0;
  virtual char const* func() const = 0;
  virtual int node() const = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual char const* nodeName() const = 0;
  virtual char const* nodeOperator() const = 0;
  virtual char const* const* localFunctionStack() const = 0;
  virtual int32_t localFunctionStackSize() const = 0;
#endif

 protected:
  ~IParserError() = default;  // not virtual: where it would stand later versions have functions
};

// Called by place, with the destructor where TensorRT has it; so are the errors above.
class IParser {
 public:
  virtual bool parse(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
                     char const* model_path = nullptr) noexcept = 0;
  virtual bool parseFromFile(char const* onnxModelFile, int verbosity) noexcept = 0;
  virtual bool supportsModel(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
                             SubGraphCollection_t& sub_graph_collection,
                             char const* model_path = nullptr) noexcept = 0;
  virtual bool parseWithWeightDescriptors(void const* serialized_onnx_model,
                                          size_t serialized_onnx_model_size) noexcept = 0;
  virtual bool supportsOperator(char const* op_name) const noexcept = 0;
  virtual int getNbErrors() const noexcept = 0;
  virtual IParserError const* getError(int index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;
  virtual ~IParser() noexcept = default;
  virtual char const* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept = 0;
  virtual void setFlags(OnnxParserFlags onnxParserFlags) noexcept = 0;
  virtual OnnxParserFlags getFlags() const noexcept = 0;
  virtual void clearFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual void setFlag(OnnxParserFlag onnxParserFlag) noexcept = 0;
  virtual bool getFlag(OnnxParserFlag onnxParserFlag) const noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual nvinfer1::ITensor const* getLayerOutputTensor(char const* name, int64_t i) noexcept = 0;
  virtual bool supportsModelV2(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                               char const* modelPath = nullptr) noexcept = 0;
  virtual int64_t getNbSubgraphs() noexcept = 0;
  virtual bool isSubgraphSupported(int64_t const index) noexcept = 0;
  virtual int64_t* getSubgraphNodes(int64_t const index, int64_t& subgraphLength) noexcept = 0;
  virtual bool loadModelProto(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                              char const* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(char const* name, void const* data, size_t size) noexcept = 0;
  virtual bool parseModelProto() noexcept = 0;
  virtual bool setBuilderConfig(nvinfer1::IBuilderConfig const* const builderConfig) noexcept = 0;
#else
  void destroy() noexcept { delete this; }
#endif
};

#if NV_TENSORRT_MAJOR >= 10
class IParserRefitter {
 public:
  virtual bool refitFromBytes(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                              char const* modelPath = nullptr) noexcept = 0;
  virtual bool refitFromFile(char const* onnxModelFile) noexcept = 0;
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual IParserError const* getError(int32_t index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;
  virtual ~IParserRefitter() noexcept = default;
  virtual bool loadModelProto(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                              char const* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(char const* name, void const* data, size_t size) noexcept = 0;
  virtual bool refitModelProto() noexcept = 0;
};
#endif

}  // namespace nvonnxparser

extern "C" void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept;
#if NV_TENSORRT_MAJOR >= 10
extern "C" void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                     int32_t version) noexcept;
#endif
extern "C" int getNvOnnxParserVersion() noexcept;

namespace nvonnxparser {
namespace {

inline IParser* createParser(nvinfer1::INetworkDefinition& network,
                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParser*>(
      createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}
#if NV_TENSORRT_MAJOR >= 10
inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter,
                                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParserRefitter*>(
      createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}
#endif

}  // namespace
}  // namespace nvonnxparser
