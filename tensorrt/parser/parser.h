// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "NvOnnxParser.h"
#include "tensorrt/network/network.h"
#include "tensorrt/parser/loaded_model.h"

namespace octet_trt {

class ParserError final : public Padded<nvonnxparser::IParserError> {
 public:
  ParserError(nvonnxparser::ErrorCode code, std::string desc)
      : code_(code), desc_(std::move(desc)) {}
  nvonnxparser::ErrorCode code() const override;
  char const* desc() const override;
  char const* file() const override;
  int line() const override;
  char const* func() const override;
  int node() const override;
#if NV_TENSORRT_MAJOR >= 10
  char const* nodeName() const override;
  char const* nodeOperator() const override;
  char const* const* localFunctionStack() const override;
  int32_t localFunctionStackSize() const override;
#endif

 private:
  nvonnxparser::ErrorCode code_;
  std::string desc_;
};

// Clients hold pointers to errors beyond clear(): all of them live as long as this.
class ParserErrors {
 public:
  void add(nvonnxparser::ErrorCode code, std::string what) {
    all_.emplace_back(code, std::move(what));
  }
  void clear() { cleared_ = all_.size(); }
  int32_t count() const { return static_cast<int32_t>(all_.size() - cleared_); }
  // Null where there is none.
  const ParserError* at(int32_t index) const {
    return index >= 0 && index < count() ? &all_[cleared_ + static_cast<size_t>(index)] : nullptr;
  }

 private:
  std::deque<ParserError> all_;
  size_t cleared_ = 0;
};

class Parser final : public Padded<nvonnxparser::IParser> {
 public:
  Parser(Network& network, ILogger* logger)
      : network_(network.watched), reporter_{logger, nullptr} {}
  bool parse(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
             char const* model_path = nullptr) noexcept override;
  bool parseFromFile(char const* onnxModelFile, int verbosity) noexcept override;
  bool supportsOperator(char const* op_name) const noexcept override;
  int getNbErrors() const noexcept override;
  nvonnxparser::IParserError const* getError(int index) const noexcept override;
  void clearErrors() noexcept override;
  char const* const* getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept override;
  void setFlags(nvonnxparser::OnnxParserFlags flags) noexcept override;
  nvonnxparser::OnnxParserFlags getFlags() const noexcept override;
  void clearFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) noexcept override;
  void setFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) noexcept override;
  bool getFlag(nvonnxparser::OnnxParserFlag onnxParserFlag) const noexcept override;
  bool supportsModel(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
                     SubGraphCollection_t& sub_graph_collection,
                     char const* model_path = nullptr) noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  ITensor const* getLayerOutputTensor(char const* name, int64_t i) noexcept override;
  bool supportsModelV2(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                       char const* modelPath = nullptr) noexcept override;
  int64_t getNbSubgraphs() noexcept override;
  bool isSubgraphSupported(int64_t const index) noexcept override;
  int64_t* getSubgraphNodes(int64_t const index, int64_t& subgraphLength) noexcept override;
  bool setBuilderConfig(IBuilderConfig const* const builderConfig) noexcept override;
  bool loadModelProto(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                      char const* modelPath = nullptr) noexcept override;
  bool loadInitializer(char const* name, void const* data, size_t size) noexcept override;
  bool parseModelProto() noexcept override;
#endif
  bool parseWithWeightDescriptors(void const* serialized_onnx_model,
                                  size_t serialized_onnx_model_size) noexcept override;

 private:
  bool parse_bytes(std::string_view bytes, const std::string& folder);
  // What is thrown is an error of the parser's list, too.
  template <class Work>
  bool told(const char* function, const Work& work) noexcept;
  void add_error(const std::exception& error, const char* function = "IParser::parse");

  Network& network() const;  // refuses to do anything once it is gone
  uint32_t bit(const char* function, nvonnxparser::OnnxParserFlag flag) const noexcept;

  Watch<Network> network_;
  Reporter reporter_;
  ParserErrors errors_;
  LoadedModel loaded_;
  nvonnxparser::OnnxParserFlags flags_ = 1;
  int64_t nodes_ = 0;
  bool supported_ = false;
  std::vector<int64_t> all_nodes_;
};

}  // namespace octet_trt
