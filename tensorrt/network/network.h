// SPDX-License-Identifier: Apache-2.0
// A network: its tensors and layers, and how they become the text of a model.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tensorrt/network/emission.h"
#include "tensorrt/shared/report.h"

namespace octet_trt {

class Attention;
class LivePlugin;
class Scope;
class ScopeTree;
struct PluginName;
using ShapeNumbers = std::vector<std::optional<int64_t>>;

// Where a binding of the engine meets a value of the model.
struct Binding {
  std::string name;  // as clients see it
  std::string onnx;  // as the model calls it
  bool is_input = false;
  DataType type = DataType::kFLOAT;
  Dims dims{};  // without an implicit batch
  bool on_host = false;
  float scale =
      0;  // of INT8 where the model has floats there: the client's codes are made outside of it
  TensorFormat format = TensorFormat::kLINEAR;
};

struct WrittenModel {
  std::string bytes;
  std::string weights_folder;
  std::vector<Binding> bindings;
};

// Null where Octet has the operator, or no creator of that name is registered.
std::optional<PluginName> plugin_of_node(const OnnxNode& node);

class Network final : public Handed<INetworkDefinition> {
 public:
  Network(IBuilder& owner, Reporter told, bool implicit, uint32_t creation_flags);
  ~Network() override;

  bool is_implicit() const { return implicit_; }
  bool is_strongly_typed() const;
  // Infers what a layer gives, and what it needs before.
  void infer(LayerCore& layer);
  std::string unique(const std::string& wanted);
  void release(const std::string& name) { names_.erase(name); }
  bool is_output(const Tensor& tensor) const;
  // A tensor that a client gives; refuses null, and one of another network.
  Tensor* own(ITensor* tensor) const;
  WrittenModel write();
  // Takes a model in; throws octet::Error.
  void parse(std::string_view bytes, const std::string& folder);
  const std::vector<Tensor*>& network_inputs() const { return inputs_; }
  std::vector<Tensor*> all_tensors() const;
  // Those that the text of the model has.
  std::vector<const LayerCore*> layers_of_model() const;
  // Of these, those that are not inside of a loop or a condition: what they give has its name in the model's own graph.
  std::set<const LayerCore*> layers_outside() const;
  std::vector<const Tensor*> tensors_of_model() const;
  // Of data; those of constants are the weights'.
  bool has_quantizers() const;
  bool has_plugins() const;
  // Those of layers_of_model(), as they were written last.
  std::vector<std::shared_ptr<LivePlugin>> plugins_of_model() const;
  // Infers the values of the parsed part again.
  void parsed_inputs_changed();
  // Whether a layer computes sizes: from shapes and constants alone.
  bool is_shape_arithmetic(const LayerCore& layer) const;

  // The interface.
  ITensor* addInput(char const* name, DataType type, Dims const& dimensions) noexcept override;
  void markOutput(ITensor& tensor) noexcept override;
  void unmarkOutput(ITensor& tensor) noexcept override;
  IConvolutionLayer* addConvolutionNd(ITensor& input, OctetSize nbOutputMaps,
                                      Dims const& kernelSize, Weights kernelWeights,
                                      Weights biasWeights) noexcept override;
  IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, OctetSize nbOutputMaps,
                                          Dims const& kernelSize, Weights kernelWeights,
                                          Weights biasWeights) noexcept override;
  IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type,
                              Dims const& windowSize) noexcept override;
  IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept override;
  ILRNLayer* addLRN(ITensor& input, OctetSize window, float alpha, float beta,
                    float k) noexcept override;
  IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                        Weights power) noexcept override;
  IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                          Weights power, int32_t channelAxis) noexcept override;
  ISoftMaxLayer* addSoftMax(ITensor& input) noexcept override;
  IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept override;
  IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2,
                                    ElementWiseOperation op) noexcept override;
  IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept override;
  IPaddingLayer* addPaddingNd(ITensor& input, Dims const& prePadding,
                              Dims const& postPadding) noexcept override;
  IShuffleLayer* addShuffle(ITensor& input) noexcept override;
  IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                          bool keepDimensions) noexcept override;
  ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k,
                      uint32_t reduceAxes) noexcept override;
  IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept override;
  IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept override;
  IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                          MatrixOperation op1) noexcept override;
  INonZeroLayer* addNonZero(ITensor& input) noexcept override;
  IConstantLayer* addConstant(Dims const& dimensions, Weights weights) noexcept override;
  IIdentityLayer* addIdentity(ITensor& input) noexcept override;
  ICastLayer* addCast(ITensor& input, DataType toType) noexcept override;
  ISliceLayer* addSlice(ITensor& input, Dims const& start, Dims const& size,
                        Dims const& stride) noexcept override;
  IShapeLayer* addShape(ITensor& input) noexcept override;
  IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept override;
  IResizeLayer* addResize(ITensor& input) noexcept override;
  ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput,
                          ITensor& elseInput) noexcept override;
  IAssertionLayer* addAssertion(ITensor& condition, char const* message) noexcept override;
  IFillLayer* addFill(Dims const& dimensions, FillOperation op) noexcept override;
  IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept override;
  IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept override;
  IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                            ScatterMode mode) noexcept override;
  IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs,
                          char const* equation) noexcept override;
  IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept override;
  IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                          int32_t axis) noexcept override;
  INMSLayer* addNMS(ITensor& boxes, ITensor& scores,
                    ITensor& maxOutputBoxesPerClass) noexcept override;
  IReverseSequenceLayer* addReverseSequence(ITensor& input,
                                            ITensor& sequenceLens) noexcept override;
  INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                        uint32_t axesMask) noexcept override;
  ILoop* addLoop() noexcept override;
  IIfConditional* addIfConditional() noexcept override;
  IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept override;
#if NV_TENSORRT_MAJOR < 10
  IRNNv2Layer* addRNNv2(ITensor& input, int32_t layerCount, int32_t hiddenSize, int32_t maxSeqLen,
                        RNNOperation op) noexcept override;
#endif
  IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                              IPluginV2& plugin) noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                              int32_t nbShapeInputs, IPluginV3& plugin) noexcept override;
  IFillLayer* addFillV2(Dims const& dimensions, FillOperation op,
                        DataType outputType) noexcept override;
  IQuantizeLayer* addQuantizeV2(ITensor& input, ITensor& scale,
                                DataType outputType) noexcept override;
  IDequantizeLayer* addDequantizeV2(ITensor& input, ITensor& scale,
                                    DataType outputType) noexcept override;
  ITopKLayer* addTopKV2(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                        DataType indicesType) noexcept override;
  INonZeroLayer* addNonZeroV2(ITensor& input, DataType indicesType) noexcept override;
  ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept override;
  IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept override;
  ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation,
                                  bool exclusive, bool reverse) noexcept override;
  IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                           AttentionNormalizationOp normOp, bool causal) noexcept override;
  INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                          uint32_t axesMask) noexcept override;
  IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
                                            bool interleaved,
                                            int32_t rotaryEmbeddingDim) noexcept override;
  IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                        KVCacheMode cacheMode) noexcept override;
  IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                            DataType outputType,
                                            DataType scaleType) noexcept override;
  IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, Dims const& blockShape,
                                              DataType outputType,
                                              DataType scaleType) noexcept override;
  INMSLayer* addNMSV2(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                      DataType indicesType) noexcept override;
  IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation operation,
                                          ReduceOperation reduceOperation, int64_t root,
                                          int64_t* groups, int64_t groupSize) noexcept override;
  IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                    ITensor& scoresForSelectedExperts) noexcept override;
  bool getFlag(NetworkDefinitionCreationFlag flag) const noexcept override;
  NetworkDefinitionCreationFlags getFlags() const noexcept override;
  bool markDebug(ITensor& tensor) noexcept override;
  bool unmarkDebug(ITensor& tensor) noexcept override;
  bool isDebugTensor(ITensor const& tensor) const noexcept override;
  bool markUnfusedTensorsAsDebugTensors() noexcept override;
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept override;
  bool markWeightsRefittable(char const* name) noexcept override;
  bool unmarkWeightsRefittable(char const* name) noexcept override;
  bool areWeightsMarkedRefittable(char const* name) const noexcept override;
#else
  IConvolutionLayer* addConvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
                                    Weights kernelWeights, Weights biasWeights) noexcept override;
  IDeconvolutionLayer* addDeconvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
                                        Weights kernelWeights,
                                        Weights biasWeights) noexcept override;
  IPoolingLayer* addPooling(ITensor& input, PoolingType type, DimsHW windowSize) noexcept override;
  IPaddingLayer* addPadding(ITensor& input, DimsHW prePadding,
                            DimsHW postPadding) noexcept override;
  IFullyConnectedLayer* addFullyConnected(ITensor& input, int32_t nbOutputs, Weights kernelWeights,
                                          Weights biasWeights) noexcept override;
  bool hasExplicitPrecision() const noexcept override;
#endif
  int32_t getNbLayers() const noexcept override;
  ILayer* getLayer(int32_t index) const noexcept override;
  int32_t getNbInputs() const noexcept override;
  ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override;
  ITensor* getOutput(int32_t index) const noexcept override;
  void removeTensor(ITensor& tensor) noexcept override;
  void setName(char const* name) noexcept override;
  char const* getName() const noexcept override;
  bool hasImplicitBatchDimension() const noexcept override;
  bool markOutputForShapes(ITensor& tensor) noexcept override;
  bool unmarkOutputForShapes(ITensor& tensor) noexcept override;
  bool setWeightsName(Weights weights, char const* name) noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;
  IBuilder& getBuilder() const noexcept override;

  IBuilder& builder;
  int32_t max_batch = 1;  // that it is built for, where the batch is implicit
  Reporter reporter;
  const Watched<Network> watched{this};
  std::vector<std::unique_ptr<Scope>> scopes;  // loops and conditions; layers point to them
#if NV_TENSORRT_MAJOR >= 10
  std::vector<std::unique_ptr<Attention>> attentions;
#endif
  std::vector<std::unique_ptr<LayerCore>> layers;
  std::map<const void*, std::string> weight_names;
  std::set<std::string> refittable;

  template <class Layer>
  Layer* add(LayerType type, const char* kind, std::vector<ITensor*> inputs, int outputs = 1);
  // The layers right inside of a scope, or of none (null), and the scopes there with what is in them.
  void write_graph(const ScopeTree& tree, const Scope* home, ModelText& model,
                   std::string& functions) const;
  void write_layer(LayerCore& layer, ModelText& model, std::string& functions) const;
  std::set<const LayerCore*> needed_by(const std::vector<Tensor*>& tensors) const;

 private:
  friend class Tensor;
  Tensor* new_tensor(const std::string& name);
  // False, and a line of this function, for a null tensor.
  bool mark(const char* function, ITensor* tensor) noexcept;
  bool unmark(const char* function, ITensor* tensor) noexcept;
  void take_nodes(std::vector<OnnxNode> nodes);
  void take_node(OnnxNode node, std::map<std::string, Tensor*>& known);
  std::unique_ptr<LayerCore> make_plugin_layer(const OnnxNode& node, const PluginName& name,
                                               const std::string& shown,
                                               const std::map<std::string, Tensor*>& known);
  Tensor* plugin_input(const OnnxNode& node, const std::string& shown, size_t i,
                       const std::map<std::string, Tensor*>& known);
  Tensor* parsed_weight(const std::string& name);
  // Types of the parsed part.
  void take_types();
  void take_types_of(ModelText& model, const std::vector<std::string>& wanted);
  void take_plugin_types(LayerCore& layer, ModelText& model);
  void infer_plugin(LayerCore& layer);
  // What is known of the numbers of these inputs of the layer, which are few integers.
  std::vector<ShapeNumbers> numbers_of(const LayerCore& layer, const std::vector<Tensor*>& inputs);
  // Of a network with a parsed part: all of it that stands before the layer, and what else these inputs follow from. What plugins give are
  // inputs.
  std::string model_before(const LayerCore& layer, const std::vector<Tensor*>& inputs);
  bool is_plugin_output(const std::string& name) const;
  void write_input(Tensor& tensor, ModelText& model, WrittenModel& written) const;
  void write_output(Tensor& tensor, ModelText& model, WrittenModel& written) const;
  std::set<const LayerCore*> needed() const;
  ScopeTree needed_scopes() const;  // of the layers that the outputs need
  std::string model_bytes(const ModelText& model, const std::string& functions) const;

  bool implicit_;
  uint32_t flags_;
  std::string name_ = "Unnamed Network 0";
  std::set<std::string> names_;
  std::vector<std::unique_ptr<Tensor>> input_tensors_;
  std::vector<Tensor*> inputs_;
  std::vector<Tensor*> outputs_;
  OnnxModel parsed_;  // what is not nodes of the model that was parsed
  std::string parsed_folder_;
  bool has_parsed_ = false;
};

}  // namespace octet_trt
