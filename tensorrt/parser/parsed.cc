// SPDX-License-Identifier: Apache-2.0
// A parsed model in a network: every node is a layer that keeps its text, so whatever Octet imports can be parsed, and is built as it stood.
#include <algorithm>
#include <functional>

#include "octet/value_types.h"
#include "tensorrt/network/emit.h"
#include "tensorrt/network/network.h"
#include "tensorrt/plugins/object.h"

namespace octet_trt {
namespace {

using Make = std::unique_ptr<LayerCore> (*)(Network&, LayerType, const std::string&);

template <class Base>
std::unique_ptr<LayerCore> make(Network& network, LayerType type, const std::string& name) {
  return std::make_unique<LayerOf<Base>>(network, type, name);
}

struct Kind {
  const char* op;
  LayerType type;
  Make make;
};

// What a node is shown as. Others are shown as plugins are: layers without properties of their own.
constexpr Kind kKinds[] = {
    {"Conv", LayerType::kCONVOLUTION, make<IConvolutionLayer>},
    {"ConvTranspose", LayerType::kDECONVOLUTION, make<IDeconvolutionLayer>},
    {"MaxPool", LayerType::kPOOLING, make<IPoolingLayer>},
    {"AveragePool", LayerType::kPOOLING, make<IPoolingLayer>},
    {"GlobalAveragePool", LayerType::kREDUCE, make<IReduceLayer>},
    {"GlobalMaxPool", LayerType::kREDUCE, make<IReduceLayer>},
    {"BatchNormalization", LayerType::kSCALE, make<IScaleLayer>},
    {"Softmax", LayerType::kSOFTMAX, make<ISoftMaxLayer>},
    {"Concat", LayerType::kCONCATENATION, make<IConcatenationLayer>},
    {"Pad", LayerType::kSLICE, make<ISliceLayer>},
    {"Slice", LayerType::kSLICE, make<ISliceLayer>},
    {"Reshape", LayerType::kSHUFFLE, make<IShuffleLayer>},
    {"Transpose", LayerType::kSHUFFLE, make<IShuffleLayer>},
    {"Flatten", LayerType::kSHUFFLE, make<IShuffleLayer>},
    {"Squeeze", LayerType::kSHUFFLE, make<IShuffleLayer>},
    {"Unsqueeze", LayerType::kSHUFFLE, make<IShuffleLayer>},
    {"TopK", LayerType::kTOPK, make<ITopKLayer>},
    {"Gather", LayerType::kGATHER, make<IGatherLayer>},
    {"GatherND", LayerType::kGATHER, make<IGatherLayer>},
    {"GatherElements", LayerType::kGATHER, make<IGatherLayer>},
    {"MatMul", LayerType::kMATRIX_MULTIPLY, make<IMatrixMultiplyLayer>},
    {"Gemm", LayerType::kMATRIX_MULTIPLY, make<IMatrixMultiplyLayer>},
    {"Constant", LayerType::kCONSTANT, make<IConstantLayer>},
    {"Identity", LayerType::kIDENTITY, make<IIdentityLayer>},
    {"Shape", LayerType::kSHAPE, make<IShapeLayer>},
    {"PRelu", LayerType::kPARAMETRIC_RELU, make<IParametricReLULayer>},
    {"Resize", LayerType::kRESIZE, make<IResizeLayer>},
    {"Upsample", LayerType::kRESIZE, make<IResizeLayer>},
    {"Where", LayerType::kSELECT, make<ISelectLayer>},
    {"Cast", LayerType::kCAST, make<ICastLayer>},
    {"QuantizeLinear", LayerType::kQUANTIZE, make<IQuantizeLayer>},
    {"DequantizeLinear", LayerType::kDEQUANTIZE, make<IDequantizeLayer>},
    {"LRN", LayerType::kLRN, make<ILRNLayer>},
    {"NonZero", LayerType::kNON_ZERO, make<INonZeroLayer>},
    {"OneHot", LayerType::kONE_HOT, make<IOneHotLayer>},
    {"GridSample", LayerType::kGRID_SAMPLE, make<IGridSampleLayer>},
    {"ReverseSequence", LayerType::kREVERSE_SEQUENCE, make<IReverseSequenceLayer>},
    {"InstanceNormalization", LayerType::kNORMALIZATION, make<INormalizationLayer>},
    {"LayerNormalization", LayerType::kNORMALIZATION, make<INormalizationLayer>},
    {"GroupNormalization", LayerType::kNORMALIZATION, make<INormalizationLayer>},
};

const std::map<std::string, ActivationType>& activations() {
  static const std::map<std::string, ActivationType> table = {
      {"Relu", ActivationType::kRELU},
      {"Sigmoid", ActivationType::kSIGMOID},
      {"Tanh", ActivationType::kTANH},
      {"LeakyRelu", ActivationType::kLEAKY_RELU},
      {"Elu", ActivationType::kELU},
      {"Selu", ActivationType::kSELU},
      {"Softsign", ActivationType::kSOFTSIGN},
      {"Softplus", ActivationType::kSOFTPLUS},
      {"Clip", ActivationType::kCLIP},
      {"HardSigmoid", ActivationType::kHARD_SIGMOID},
      {"ThresholdedRelu", ActivationType::kTHRESHOLDED_RELU},
  };
  return table;
}

const std::map<std::string, ElementWiseOperation>& elementwise() {
  using Op = ElementWiseOperation;
  static const std::map<std::string, Op> table = {
      {"Add", Op::kSUM},   {"Mul", Op::kPROD}, {"Max", Op::kMAX},     {"Min", Op::kMIN},
      {"Sub", Op::kSUB},   {"Div", Op::kDIV},  {"Pow", Op::kPOW},     {"And", Op::kAND},
      {"Or", Op::kOR},     {"Xor", Op::kXOR},  {"Equal", Op::kEQUAL}, {"Greater", Op::kGREATER},
      {"Less", Op::kLESS}, {"Sum", Op::kSUM},
  };
  return table;
}

const std::map<std::string, UnaryOperation>& unary() {
  using Op = UnaryOperation;
  static const std::map<std::string, Op> table = {
      {"Exp", Op::kEXP}, {"Log", Op::kLOG},   {"Sqrt", Op::kSQRT},   {"Reciprocal", Op::kRECIP},
      {"Abs", Op::kABS}, {"Neg", Op::kNEG},   {"Sin", Op::kSIN},     {"Cos", Op::kCOS},
      {"Tan", Op::kTAN}, {"Ceil", Op::kCEIL}, {"Floor", Op::kFLOOR}, {"Erf", Op::kERF},
      {"Not", Op::kNOT}, {"Sign", Op::kSIGN}, {"Round", Op::kROUND}, {"IsInf", Op::kISINF},
  };
  return table;
}

const std::map<std::string, ReduceOperation>& reductions() {
  using Op = ReduceOperation;
  static const std::map<std::string, Op> table = {
      {"ReduceSum", Op::kSUM}, {"ReduceProd", Op::kPROD}, {"ReduceMax", Op::kMAX},
      {"ReduceMin", Op::kMIN}, {"ReduceMean", Op::kAVG},
  };
  return table;
}

template <class Base, class Table>
std::unique_ptr<LayerCore> with_operation(Network& network, LayerType type, const std::string& name,
                                          const Table& found) {
  auto layer = std::make_unique<LayerOf<Base>>(network, type, name);
  layer->setOperation(found->second);
  return layer;
}

std::unique_ptr<LayerCore> make_layer(Network& network, const OnnxNode& node,
                                      const std::string& name) {
  if (const auto found = activations().find(node.op); found != activations().end()) {
    auto layer = std::make_unique<LayerOf<IActivationLayer>>(network, LayerType::kACTIVATION, name);
    layer->setActivationType(found->second);
    return layer;
  }
  if (const auto found = elementwise().find(node.op); found != elementwise().end())
    return with_operation<IElementWiseLayer>(network, LayerType::kELEMENTWISE, name, found);
  if (const auto found = unary().find(node.op); found != unary().end())
    return with_operation<IUnaryLayer>(network, LayerType::kUNARY, name, found);
  if (const auto found = reductions().find(node.op); found != reductions().end())
    return with_operation<IReduceLayer>(network, LayerType::kREDUCE, name, found);
  for (const Kind& kind : kKinds)
    if (node.op == kind.op) return kind.make(network, kind.type, name);
  return std::make_unique<LayerOf<IIdentityLayer>>(network, LayerType::kPLUGIN, name);
}

}  // namespace

void Network::take_node(OnnxNode node, std::map<std::string, Tensor*>& known) {
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = "node_of_" + node.outputs.front();
  const std::optional<PluginName> plugin = plugin_of_node(node);
  std::unique_ptr<LayerCore> layer =
      plugin ? make_plugin_layer(node, *plugin, name, known) : make_layer(*this, node, name);
  for (size_t i = 0; !plugin && i < node.inputs.size(); ++i) {
    const auto tensor = known.find(node.inputs[i]);
    if (tensor == known.end()) continue;
    layer->inputs.push_back(tensor->second);
    layer->input_places.push_back(i);
  }
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    auto tensor = std::make_unique<Tensor>(*this, output);
    tensor->parsed_name = output;
    tensor->producer = layer.get();
    names_.insert(output);
    known[output] = tensor.get();
    layer->outputs.push_back(std::move(tensor));
  }
  if (!plugin) layer->parsed = std::move(node);
  layer->inferred = true;
  layers.push_back(std::move(layer));
}

void Network::take_nodes(std::vector<OnnxNode> nodes) {
  std::map<std::string, Tensor*> known;
  for (Tensor* input : inputs_)
    if (!input->parsed_name.empty()) known[input->parsed_name] = input;
  for (OnnxNode& node : nodes) take_node(std::move(node), known);
  for (const std::string& output : parsed_.outputs) {
    const auto found = known.find(output);
    if (found == known.end()) {
      refuse("the model's output '" + output + "' is a weight: it does not depend on any input");
    }
    if (!is_output(*found->second)) outputs_.push_back(found->second);
  }
}

void Network::parse(std::string_view bytes, const std::string& folder) {
  if (has_parsed_) refuse("the network holds a model already");
  if (implicit_) {
    refuse(
        "a model that is parsed needs a network with explicit batch: createNetworkV2(1U << "
        "static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH))");
  }
  OnnxModel model = read_onnx(bytes);
  const bool has_plugin = std::ranges::any_of(
      model.nodes, [](const OnnxNode& node) { return plugin_of_node(node).has_value(); });
  // What is wrong with the model is said before the network changes.
  const std::string inputs_alone = has_plugin ? inputs_of(model) : "";
  std::map<std::string, octet::TensorType> types;
  for (const auto& info : octet::value_types(
           std::as_bytes(std::span(has_plugin ? std::string_view(inputs_alone) : bytes)), folder))
    types.emplace(info.name, info.type);
  parsed_ = std::move(model);
  parsed_folder_ = folder;
  has_parsed_ = true;
  for (size_t i = 0; i < parsed_.inputs.size(); ++i) {
    Tensor* tensor = new_tensor(parsed_.inputs[i]);
    tensor->parsed_name = parsed_.inputs[i];
    tensor->is_input = true;
    tensor->type = types[parsed_.inputs[i]];
    const auto names = dimension_names(parsed_.input_infos[i]);
    for (size_t axis = 0; axis < names.size() && axis < Dims::MAX_DIMS; ++axis)
      tensor->dimension_names[axis] = names[axis];
    inputs_.push_back(tensor);
  }
  take_nodes(std::move(parsed_.nodes));
  if (has_plugin) return take_types();
  for (const auto& layer : layers)
    for (const auto& output : layer->outputs)
      if (const auto found = types.find(output->parsed_name); found != types.end())
        output->type = found->second;
}

}  // namespace octet_trt
