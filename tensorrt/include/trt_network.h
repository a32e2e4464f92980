// SPDX-License-Identifier: Apache-2.0
// A network in the making.
#pragma once

#include "trt_control.h"

namespace nvinfer1 {

class IBuilder;
class IPluginV2;
class IPluginV2Layer;
#if NV_TENSORRT_MAJOR >= 10
class IPluginV3;
class IPluginV3Layer;
#endif

enum class NetworkDefinitionCreationFlag : int32_t {
#if NV_TENSORRT_MAJOR >= 10
  kEXPLICIT_BATCH = 0,
  kSTRONGLY_TYPED = 1,
  kPREFER_JIT_PYTHON_PLUGINS = 2,
  kPREFER_AOT_PYTHON_PLUGINS = 3,
#else
  kEXPLICIT_BATCH = 0,
  kEXPLICIT_PRECISION = 1,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(NetworkDefinitionCreationFlag, 4)
#else
OCTET_TRT_ENUM_MAX(NetworkDefinitionCreationFlag, 2)
#endif
using NetworkDefinitionCreationFlags = uint32_t;

class INetworkDefinition : public INoCopy {
 public:
  virtual ~INetworkDefinition() noexcept = default;
  virtual ITensor* addInput(char const* name, DataType type, Dims const& dimensions) noexcept = 0;
  virtual void markOutput(ITensor& tensor) noexcept = 0;
  virtual void unmarkOutput(ITensor& tensor) noexcept = 0;
  virtual IConvolutionLayer* addConvolutionNd(ITensor& input, OctetSize nbOutputMaps,
                                              Dims const& kernelSize, Weights kernelWeights,
                                              Weights biasWeights) noexcept = 0;
  virtual IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, OctetSize nbOutputMaps,
                                                  Dims kernelSize, Weights kernelWeights,
                                                  Weights biasWeights) noexcept = 0;
  virtual IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type,
                                      Dims const& windowSize) noexcept = 0;
  virtual IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept = 0;
  virtual ILRNLayer* addLRN(ITensor& input, OctetSize window, float alpha, float beta,
                            float k) noexcept = 0;
  virtual IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                                Weights power) noexcept = 0;
  virtual IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                                  Weights power, int32_t channelAxis) noexcept = 0;
  virtual ISoftMaxLayer* addSoftMax(ITensor& input) noexcept = 0;
  virtual IConcatenationLayer* addConcatenation(ITensor* const* inputs,
                                                int32_t nbInputs) noexcept = 0;
  virtual IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2,
                                            ElementWiseOperation op) noexcept = 0;
  virtual IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept = 0;
  virtual IPaddingLayer* addPaddingNd(ITensor& input, Dims const& prePadding,
                                      Dims const& postPadding) noexcept = 0;
  virtual IShuffleLayer* addShuffle(ITensor& input) noexcept = 0;
  virtual IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                                  bool keepDimensions) noexcept = 0;
  virtual ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k,
                              uint32_t reduceAxes) noexcept = 0;
  virtual IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept = 0;
  virtual IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept = 0;
  virtual IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0,
                                                  ITensor& input1,
                                                  MatrixOperation op1) noexcept = 0;
  virtual INonZeroLayer* addNonZero(ITensor& input) noexcept = 0;
  virtual IConstantLayer* addConstant(Dims const& dimensions, Weights weights) noexcept = 0;
  virtual IIdentityLayer* addIdentity(ITensor& input) noexcept = 0;
  virtual ICastLayer* addCast(ITensor& input, DataType toType) noexcept = 0;
  virtual ISliceLayer* addSlice(ITensor& input, Dims const& start, Dims const& size,
                                Dims const& stride) noexcept = 0;
  virtual IShapeLayer* addShape(ITensor& input) noexcept = 0;
  virtual IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept = 0;
  virtual IResizeLayer* addResize(ITensor& input) noexcept = 0;
  virtual ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput,
                                  ITensor& elseInput) noexcept = 0;
  virtual IAssertionLayer* addAssertion(ITensor& condition, char const* message) noexcept = 0;
  virtual IFillLayer* addFill(Dims const& dimensions, FillOperation op) noexcept = 0;
  virtual IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept = 0;
  virtual IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept = 0;
  virtual IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                                    ScatterMode mode) noexcept = 0;
  virtual IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs,
                                  char const* equation) noexcept = 0;
  virtual IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept = 0;
  virtual IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                                  int32_t axis) noexcept = 0;
  virtual INMSLayer* addNMS(ITensor& boxes, ITensor& scores,
                            ITensor& maxOutputBoxesPerClass) noexcept = 0;
  virtual IReverseSequenceLayer* addReverseSequence(ITensor& input,
                                                    ITensor& sequenceLens) noexcept = 0;
  virtual INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                                uint32_t axesMask) noexcept = 0;
  virtual ILoop* addLoop() noexcept = 0;
  virtual IIfConditional* addIfConditional() noexcept = 0;
  virtual IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept = 0;
#if NV_TENSORRT_MAJOR < 10
  virtual IRNNv2Layer* addRNNv2(ITensor& input, int32_t layerCount, int32_t hiddenSize,
                                int32_t maxSeqLen, RNNOperation op) noexcept = 0;
#endif
  virtual IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                      IPluginV2& plugin) noexcept = 0;
#if NV_TENSORRT_MAJOR >= 10
  virtual IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs,
                                      ITensor* const* shapeInputs, int32_t nbShapeInputs,
                                      IPluginV3& plugin) noexcept = 0;
  virtual IFillLayer* addFill(Dims const& dimensions, FillOperation op,
                              DataType outputType) noexcept = 0;
  virtual IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale,
                                      DataType outputType) noexcept = 0;
  virtual IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale,
                                          DataType outputType) noexcept = 0;
  virtual ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                              DataType indicesType) noexcept = 0;
  virtual INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept = 0;
  virtual ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept = 0;
  virtual IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept = 0;
  virtual ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis,
                                          CumulativeOperation operation, bool exclusive,
                                          bool reverse) noexcept = 0;
  virtual IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                                   AttentionNormalizationOp normOp, bool causal) noexcept = 0;
  virtual INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                                  uint32_t axesMask) noexcept = 0;
  virtual IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache,
                                                    ITensor& sinCache, bool interleaved,
                                                    int32_t rotaryEmbeddingDim) noexcept = 0;
  virtual IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update,
                                                ITensor& writeIndices,
                                                KVCacheMode cacheMode) noexcept = 0;
  virtual IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                                    DataType outputType,
                                                    DataType scaleType) noexcept = 0;
  virtual IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, Dims const& blockShape,
                                                      DataType outputType,
                                                      DataType scaleType) noexcept = 0;
  virtual IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                            ITensor& scoresForSelectedExperts) noexcept = 0;
  virtual bool getFlag(NetworkDefinitionCreationFlag flag) const noexcept = 0;
  virtual NetworkDefinitionCreationFlags getFlags() const noexcept = 0;
  virtual bool markDebug(ITensor& tensor) noexcept = 0;
  virtual bool unmarkDebug(ITensor& tensor) noexcept = 0;
  virtual bool isDebugTensor(ITensor const& tensor) const noexcept = 0;
  virtual bool markUnfusedTensorsAsDebugTensors() noexcept = 0;
  virtual bool unmarkUnfusedTensorsAsDebugTensors() noexcept = 0;
  virtual bool markWeightsRefittable(char const* name) noexcept = 0;
  virtual bool unmarkWeightsRefittable(char const* name) noexcept = 0;
  virtual bool areWeightsMarkedRefittable(char const* name) const noexcept = 0;
#else
  virtual IConvolutionLayer* addConvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
                                            Weights kernelWeights,
                                            Weights biasWeights) noexcept = 0;
  virtual IDeconvolutionLayer* addDeconvolution(ITensor& input, int32_t nbOutputMaps,
                                                DimsHW kernelSize, Weights kernelWeights,
                                                Weights biasWeights) noexcept = 0;
  virtual IPoolingLayer* addPooling(ITensor& input, PoolingType type,
                                    DimsHW windowSize) noexcept = 0;
  virtual IPaddingLayer* addPadding(ITensor& input, DimsHW prePadding,
                                    DimsHW postPadding) noexcept = 0;
  virtual IFullyConnectedLayer* addFullyConnected(ITensor& input, int32_t nbOutputs,
                                                  Weights kernelWeights,
                                                  Weights biasWeights) noexcept = 0;
  virtual bool hasExplicitPrecision() const noexcept = 0;
#endif
  virtual int32_t getNbLayers() const noexcept = 0;
  virtual ILayer* getLayer(int32_t index) const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;
  virtual void removeTensor(ITensor& tensor) noexcept = 0;
  virtual void setName(char const* name) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual bool hasImplicitBatchDimension() const noexcept = 0;
  virtual bool markOutputForShapes(ITensor& tensor) noexcept = 0;
  virtual bool unmarkOutputForShapes(ITensor& tensor) noexcept = 0;
  virtual bool setWeightsName(Weights weights, char const* name) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual IBuilder& getBuilder() const noexcept = 0;
  OCTET_TRT_DESTROY
};

}  // namespace nvinfer1
