// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/parser/parser.h"

#include <filesystem>

#include "octet/error.h"
#include "octet/operators.h"
#include "tensorrt/plugins/registry.h"

namespace octet_trt {
namespace {

nvonnxparser::ErrorCode parser_code(const std::exception& error) {
  const auto* own = dynamic_cast<const octet::Error*>(&error);
  if (own == nullptr) return nvonnxparser::ErrorCode::kINTERNAL_ERROR;
  switch (own->code()) {
    case octet::Error::Code::unsupported:
      return nvonnxparser::ErrorCode::kUNSUPPORTED_NODE;
    case octet::Error::Code::invalid_model:
      return nvonnxparser::ErrorCode::kINVALID_GRAPH;
    case octet::Error::Code::io:
      return nvonnxparser::ErrorCode::kMODEL_DESERIALIZE_FAILED;
    case octet::Error::Code::out_of_memory:
      return nvonnxparser::ErrorCode::kMEM_ALLOC_FAILED;
    default:
      return nvonnxparser::ErrorCode::kINVALID_VALUE;
  }
}

std::string folder_of(const char* path) {
  if (path == nullptr) return {};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace

nvonnxparser::ErrorCode ParserError::code() const { return code_; }
char const* ParserError::desc() const { return desc_.c_str(); }
char const* ParserError::file() const { return ""; }
int ParserError::line() const { return 0; }
char const* ParserError::func() const { return "parse"; }
int ParserError::node() const { return -1; }
#if NV_TENSORRT_MAJOR >= 10
char const* ParserError::nodeName() const { return ""; }
char const* ParserError::nodeOperator() const { return ""; }
char const* const* ParserError::localFunctionStack() const { return nullptr; }
int32_t ParserError::localFunctionStackSize() const { return 0; }
#endif

void Parser::add_error(const std::exception& error, const char* function) {
  errors_.add(parser_code(error), error.what());
  reporter_.error(function, error);
}

Network& Parser::network() const {
  Network* own = network_.get();
  if (own == nullptr) refuse("the network was destroyed before its parser");
  return *own;
}

// Nowhere for a flag that there is not.
uint32_t Parser::bit(const char* function, nvonnxparser::OnnxParserFlag flag) const noexcept {
  return guarded(reporter_, function, uint32_t{0}, [&] {
    const auto number = static_cast<int32_t>(flag);
    if (number < 0 || number >= nvonnxparser::EnumMax<nvonnxparser::OnnxParserFlag>())
      refuse(std::to_string(number) + " is no flag");
    return 1U << static_cast<uint32_t>(number);
  });
}

bool Parser::parse_bytes(std::string_view bytes, const std::string& folder) {
  try {
    network().parse(bytes, folder);
    return true;
  } catch (const std::exception& error) {
    add_error(error);
    return false;
  }
}

bool Parser::parse(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
                   char const* model_path) noexcept {
  return guarded(reporter_, "IParser::parse", false, [&] {
    need(serialized_onnx_model, "model");
    return parse_bytes(
        {static_cast<const char*>(serialized_onnx_model), serialized_onnx_model_size},
        folder_of(model_path));
  });
}

bool Parser::parseFromFile(char const* onnxModelFile, int) noexcept {
  return guarded(reporter_, "IParser::parseFromFile", false, [&] {
    need(onnxModelFile, "name of a file");
    try {
      return parse_bytes(read_file(onnxModelFile), folder_of(onnxModelFile));
    } catch (const std::exception& error) {
      add_error(error);
      return false;
    }
  });
}

bool Parser::supportsOperator(char const* op_name) const noexcept {
  return guarded(reporter_, "IParser::supportsOperator", false, [&] {
    for (const octet::OpSupport& op : octet::supported_operators())
      if (op_name != nullptr && op.name == op_name) return true;
    return op_name != nullptr && !creator_spaces_of(op_name).empty();
  });
}

int Parser::getNbErrors() const noexcept { return errors_.count(); }
nvonnxparser::IParserError const* Parser::getError(int index) const noexcept {
  return errors_.at(index);
}
void Parser::clearErrors() noexcept { errors_.clear(); }

char const* const* Parser::getUsedVCPluginLibraries(int64_t& nbPluginLibs) const noexcept {
  if (&nbPluginLibs != nullptr) nbPluginLibs = 0;
  return nullptr;
}

void Parser::setFlags(nvonnxparser::OnnxParserFlags flags) noexcept { flags_ = flags; }
nvonnxparser::OnnxParserFlags Parser::getFlags() const noexcept { return flags_; }
void Parser::clearFlag(nvonnxparser::OnnxParserFlag flag) noexcept {
  flags_ &= ~bit("IParser::clearFlag", flag);
}
void Parser::setFlag(nvonnxparser::OnnxParserFlag flag) noexcept {
  flags_ |= bit("IParser::setFlag", flag);
}
bool Parser::getFlag(nvonnxparser::OnnxParserFlag flag) const noexcept {
  return (flags_ & bit("IParser::getFlag", flag)) != 0;
}

bool Parser::supportsModel(void const* serialized_onnx_model, size_t serialized_onnx_model_size,
                           SubGraphCollection_t& sub_graph_collection,
                           char const* model_path) noexcept {
  return guarded(reporter_, "IParser::supportsModel", false, [&] {
    need(serialized_onnx_model, "model");
    need(&sub_graph_collection, "list of subgraphs");
    const std::string_view bytes(static_cast<const char*>(serialized_onnx_model),
                                 serialized_onnx_model_size);
    supported_ = false;
    all_nodes_.clear();
    sub_graph_collection.clear();
    try {
      Network(network().builder, reporter_, false, 1).parse(bytes, folder_of(model_path));
      supported_ = true;
    } catch (const octet::Error& error) {
      add_error(error);
    }
    SubGraph_t all{{}, supported_};
    const size_t nodes = read_onnx(bytes).nodes.size();
    for (size_t i = 0; i < nodes; ++i) {
      all.first.push_back(i);
      all_nodes_.push_back(static_cast<int64_t>(i));
    }
    sub_graph_collection.push_back(all);
    return supported_;
  });
}

#if NV_TENSORRT_MAJOR >= 10
ITensor const* Parser::getLayerOutputTensor(char const* name, int64_t i) noexcept {
  if (network_.get() == nullptr) return nullptr;
  for (const auto& layer : network_.get()->layers) {
    const bool is_it = name != nullptr && layer->parsed && layer->name == name;
    if (is_it && i >= 0 && static_cast<size_t>(i) < layer->outputs.size())
      return layer->outputs[static_cast<size_t>(i)].get();
  }
  return nullptr;
}

bool Parser::supportsModelV2(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                             char const* modelPath) noexcept {
  SubGraphCollection_t all;
  return supportsModel(serializedOnnxModel, serializedOnnxModelSize, all, modelPath);
}
int64_t Parser::getNbSubgraphs() noexcept { return all_nodes_.empty() ? 0 : 1; }
bool Parser::isSubgraphSupported(int64_t const index) noexcept { return index == 0 && supported_; }
int64_t* Parser::getSubgraphNodes(int64_t const index, int64_t& subgraphLength) noexcept {
  const size_t count = index == 0 ? all_nodes_.size() : 0;
  if (&subgraphLength != nullptr) subgraphLength = static_cast<int64_t>(count);
  return count == 0 ? nullptr : all_nodes_.data();
}
bool Parser::setBuilderConfig(IBuilderConfig const* const) noexcept { return true; }

template <class Work>
bool Parser::told(const char* function, const Work& work) noexcept {
  return guarded(reporter_, function, false, [&] {
    try {
      work();
      return true;
    } catch (const std::exception& error) {
      add_error(error, function);
      return false;
    }
  });
}

bool Parser::loadModelProto(void const* serializedOnnxModel, size_t serializedOnnxModelSize,
                            char const* modelPath) noexcept {
  return told("IParser::loadModelProto", [&] {
    need(serializedOnnxModel, "model");
    loaded_.load({static_cast<const char*>(serializedOnnxModel), serializedOnnxModelSize},
                 folder_of(modelPath));
  });
}
bool Parser::loadInitializer(char const* name, void const* data, size_t size) noexcept {
  return told("IParser::loadInitializer", [&] { loaded_.set(name, data, size); });
}
bool Parser::parseModelProto() noexcept {
  return told("IParser::parseModelProto",
              [&] { network().parse(loaded_.bytes(), loaded_.folder()); });
}
#endif

bool Parser::parseWithWeightDescriptors(void const* serialized_onnx_model,
                                        size_t serialized_onnx_model_size) noexcept {
  return parse(serialized_onnx_model, serialized_onnx_model_size, nullptr);
}

}  // namespace octet_trt
