// SPDX-License-Identifier: Apache-2.0
// A network in the making.
#pragma once

#include "trt_control.h"

namespace nvinfer1 {

class IBuilder;
class IPluginV2;
class IPluginV2Layer;
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_V1_BEGIN
class IPluginV3;
OCTET_TRT_V1_END
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
  OCTET_TRT_HANDLE(VNetworkDefinition)
 public:
  virtual ~INetworkDefinition() noexcept = default;
  OCTET_TRT_CALL(ITensor*, addInput, (char const* name, DataType type, Dims const& dimensions),
                 (name, type, dimensions))
  OCTET_TRT_CALL(void, markOutput, (ITensor & tensor), (tensor))
  OCTET_TRT_CALL(void, unmarkOutput, (ITensor & tensor), (tensor))
  OCTET_TRT_CALL(IConvolutionLayer*, addConvolutionNd,
                 (ITensor & input, OctetSize nbOutputMaps, Dims const& kernelSize,
                  Weights kernelWeights, Weights biasWeights),
                 (input, nbOutputMaps, kernelSize, kernelWeights, biasWeights))
  OCTET_TRT_CALL(IDeconvolutionLayer*, addDeconvolutionNd,
                 (ITensor & input, OctetSize nbOutputMaps, Dims const& kernelSize,
                  Weights kernelWeights, Weights biasWeights),
                 (input, nbOutputMaps, kernelSize, kernelWeights, biasWeights))
  OCTET_TRT_CALL(IPoolingLayer*, addPoolingNd,
                 (ITensor & input, PoolingType type, Dims const& windowSize),
                 (input, type, windowSize))
  OCTET_TRT_CALL(IActivationLayer*, addActivation, (ITensor & input, ActivationType type),
                 (input, type))
  OCTET_TRT_CALL(ILRNLayer*, addLRN,
                 (ITensor & input, OctetSize window, float alpha, float beta, float k),
                 (input, window, alpha, beta, k))
  OCTET_TRT_CALL(IScaleLayer*, addScale,
                 (ITensor & input, ScaleMode mode, Weights shift, Weights scale, Weights power),
                 (input, mode, shift, scale, power))
  OCTET_TRT_CALL(IScaleLayer*, addScaleNd,
                 (ITensor & input, ScaleMode mode, Weights shift, Weights scale, Weights power,
                  int32_t channelAxis),
                 (input, mode, shift, scale, power, channelAxis))
  OCTET_TRT_CALL(ISoftMaxLayer*, addSoftMax, (ITensor & input), (input))
  OCTET_TRT_CALL(IConcatenationLayer*, addConcatenation, (ITensor* const* inputs, int32_t nbInputs),
                 (inputs, nbInputs))
  OCTET_TRT_CALL(IElementWiseLayer*, addElementWise,
                 (ITensor & input1, ITensor& input2, ElementWiseOperation op), (input1, input2, op))
  OCTET_TRT_CALL(IUnaryLayer*, addUnary, (ITensor & input, UnaryOperation operation),
                 (input, operation))
  OCTET_TRT_CALL(IPaddingLayer*, addPaddingNd,
                 (ITensor & input, Dims const& prePadding, Dims const& postPadding),
                 (input, prePadding, postPadding))
  OCTET_TRT_CALL(IShuffleLayer*, addShuffle, (ITensor & input), (input))
  OCTET_TRT_CALL(IReduceLayer*, addReduce,
                 (ITensor & input, ReduceOperation operation, uint32_t reduceAxes,
                  bool keepDimensions),
                 (input, operation, reduceAxes, keepDimensions))
  OCTET_TRT_CALL(ITopKLayer*, addTopK,
                 (ITensor & input, TopKOperation op, int32_t k, uint32_t reduceAxes),
                 (input, op, k, reduceAxes))
  OCTET_TRT_CALL(IGatherLayer*, addGather, (ITensor & data, ITensor& indices, int32_t axis),
                 (data, indices, axis))
  OCTET_TRT_CALL(IGatherLayer*, addGatherV2, (ITensor & data, ITensor& indices, GatherMode mode),
                 (data, indices, mode))
  OCTET_TRT_CALL(IMatrixMultiplyLayer*, addMatrixMultiply,
                 (ITensor & input0, MatrixOperation op0, ITensor& input1, MatrixOperation op1),
                 (input0, op0, input1, op1))
  OCTET_TRT_CALL(INonZeroLayer*, addNonZero, (ITensor & input), (input))
  OCTET_TRT_CALL(IConstantLayer*, addConstant, (Dims const& dimensions, Weights weights),
                 (dimensions, weights))
  OCTET_TRT_CALL(IIdentityLayer*, addIdentity, (ITensor & input), (input))
  OCTET_TRT_CALL(ICastLayer*, addCast, (ITensor & input, DataType toType), (input, toType))
  OCTET_TRT_CALL(ISliceLayer*, addSlice,
                 (ITensor & input, Dims const& start, Dims const& size, Dims const& stride),
                 (input, start, size, stride))
  OCTET_TRT_CALL(IShapeLayer*, addShape, (ITensor & input), (input))
  OCTET_TRT_CALL(IParametricReLULayer*, addParametricReLU, (ITensor & input, ITensor& slope),
                 (input, slope))
  OCTET_TRT_CALL(IResizeLayer*, addResize, (ITensor & input), (input))
  OCTET_TRT_CALL(ISelectLayer*, addSelect,
                 (ITensor & condition, ITensor& thenInput, ITensor& elseInput),
                 (condition, thenInput, elseInput))
  OCTET_TRT_CALL(IAssertionLayer*, addAssertion, (ITensor & condition, char const* message),
                 (condition, message))
  OCTET_TRT_CALL(IFillLayer*, addFill, (Dims const& dimensions, FillOperation op), (dimensions, op))
  OCTET_TRT_CALL(IQuantizeLayer*, addQuantize, (ITensor & input, ITensor& scale), (input, scale))
  OCTET_TRT_CALL(IDequantizeLayer*, addDequantize, (ITensor & input, ITensor& scale),
                 (input, scale))
  OCTET_TRT_CALL(IScatterLayer*, addScatter,
                 (ITensor & data, ITensor& indices, ITensor& updates, ScatterMode mode),
                 (data, indices, updates, mode))
  OCTET_TRT_CALL(IEinsumLayer*, addEinsum,
                 (ITensor* const* inputs, int32_t nbInputs, char const* equation),
                 (inputs, nbInputs, equation))
  OCTET_TRT_CALL(IGridSampleLayer*, addGridSample, (ITensor & input, ITensor& grid), (input, grid))
  OCTET_TRT_CALL(IOneHotLayer*, addOneHot,
                 (ITensor & indices, ITensor& values, ITensor& depth, int32_t axis),
                 (indices, values, depth, axis))
  OCTET_TRT_CALL(INMSLayer*, addNMS,
                 (ITensor & boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass),
                 (boxes, scores, maxOutputBoxesPerClass))
  OCTET_TRT_CALL(IReverseSequenceLayer*, addReverseSequence,
                 (ITensor & input, ITensor& sequenceLens), (input, sequenceLens))
  OCTET_TRT_CALL(INormalizationLayer*, addNormalization,
                 (ITensor & input, ITensor& scale, ITensor& bias, uint32_t axesMask),
                 (input, scale, bias, axesMask))
  OCTET_TRT_CALL(ILoop*, addLoop, (), ())
  OCTET_TRT_CALL(IIfConditional*, addIfConditional, (), ())
  OCTET_TRT_CALL(IRaggedSoftMaxLayer*, addRaggedSoftMax, (ITensor & input, ITensor& bounds),
                 (input, bounds))
#if NV_TENSORRT_MAJOR < 10
  OCTET_TRT_CALL(IRNNv2Layer*, addRNNv2,
                 (ITensor & input, int32_t layerCount, int32_t hiddenSize, int32_t maxSeqLen,
                  RNNOperation op),
                 (input, layerCount, hiddenSize, maxSeqLen, op))
#endif
  OCTET_TRT_CALL(IPluginV2Layer*, addPluginV2,
                 (ITensor* const* inputs, int32_t nbInputs, IPluginV2& plugin),
                 (inputs, nbInputs, plugin))
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(IPluginV3Layer*, addPluginV3,
                 (ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                  int32_t nbShapeInputs, IPluginV3& plugin),
                 (inputs, nbInputs, shapeInputs, nbShapeInputs, plugin))
  OCTET_TRT_CALL_AS(IFillLayer*, addFill, addFillV2,
                    (Dims const& dimensions, FillOperation op, DataType outputType),
                    (dimensions, op, outputType))
  OCTET_TRT_CALL_AS(IQuantizeLayer*, addQuantize, addQuantizeV2,
                    (ITensor & input, ITensor& scale, DataType outputType),
                    (input, scale, outputType))
  OCTET_TRT_CALL_AS(IDequantizeLayer*, addDequantize, addDequantizeV2,
                    (ITensor & input, ITensor& scale, DataType outputType),
                    (input, scale, outputType))
  OCTET_TRT_CALL_AS(ITopKLayer*, addTopK, addTopKV2,
                    (ITensor & input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                     DataType indicesType),
                    (input, op, k, reduceAxes, indicesType))
  OCTET_TRT_CALL_AS(INMSLayer*, addNMS, addNMSV2,
                    (ITensor & boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                     DataType indicesType),
                    (boxes, scores, maxOutputBoxesPerClass, indicesType))
  OCTET_TRT_CALL(IDistCollectiveLayer*, addDistCollective,
                 (ITensor & input, CollectiveOperation distCollectiveOp, ReduceOperation reduceOp,
                  int64_t root, int64_t* groups, int64_t groupSize),
                 (input, distCollectiveOp, reduceOp, root, groups, groupSize))
  OCTET_TRT_CALL_AS(INonZeroLayer*, addNonZero, addNonZeroV2,
                    (ITensor & input, DataType indicesType), (input, indicesType))
  OCTET_TRT_CALL(ISqueezeLayer*, addSqueeze, (ITensor & input, ITensor& axes), (input, axes))
  OCTET_TRT_CALL(IUnsqueezeLayer*, addUnsqueeze, (ITensor & input, ITensor& axes), (input, axes))
  OCTET_TRT_CALL(ICumulativeLayer*, addCumulative,
                 (ITensor & input, ITensor& axis, CumulativeOperation operation, bool exclusive,
                  bool reverse),
                 (input, axis, operation, exclusive, reverse))
  OCTET_TRT_CALL(IAttention*, addAttention,
                 (ITensor & query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp,
                  bool causal),
                 (query, key, value, normOp, causal))
  OCTET_TRT_CALL(INormalizationLayer*, addNormalizationV2,
                 (ITensor & input, ITensor& scale, ITensor& bias, uint32_t axesMask),
                 (input, scale, bias, axesMask))
  OCTET_TRT_CALL(IRotaryEmbeddingLayer*, addRotaryEmbedding,
                 (ITensor & input, ITensor& cosCache, ITensor& sinCache, bool interleaved,
                  int32_t rotaryEmbeddingDim),
                 (input, cosCache, sinCache, interleaved, rotaryEmbeddingDim))
  OCTET_TRT_CALL(IKVCacheUpdateLayer*, addKVCacheUpdate,
                 (ITensor & cache, ITensor& update, ITensor& writeIndices, KVCacheMode cacheMode),
                 (cache, update, writeIndices, cacheMode))
  OCTET_TRT_CALL(IDynamicQuantizeLayer*, addDynamicQuantize,
                 (ITensor & input, int32_t axis, int32_t blockSize, DataType outputType,
                  DataType scaleType),
                 (input, axis, blockSize, outputType, scaleType))
  OCTET_TRT_CALL(IDynamicQuantizeLayer*, addDynamicQuantizeV2,
                 (ITensor & input, Dims const& blockShape, DataType outputType, DataType scaleType),
                 (input, blockShape, outputType, scaleType))
  OCTET_TRT_CALL(IMoELayer*, addMoE,
                 (ITensor & hiddenStates, ITensor& selectedExpertsForTokens,
                  ITensor& scoresForSelectedExperts),
                 (hiddenStates, selectedExpertsForTokens, scoresForSelectedExperts))
  OCTET_TRT_ASK(bool, getFlag, (NetworkDefinitionCreationFlag flag), (flag))
  OCTET_TRT_ASK(NetworkDefinitionCreationFlags, getFlags, (), ())
  OCTET_TRT_CALL(bool, markDebug, (ITensor & tensor), (tensor))
  OCTET_TRT_CALL(bool, unmarkDebug, (ITensor & tensor), (tensor))
  OCTET_TRT_ASK(bool, isDebugTensor, (ITensor const& tensor), (tensor))
  OCTET_TRT_CALL(bool, markUnfusedTensorsAsDebugTensors, (), ())
  OCTET_TRT_CALL(bool, unmarkUnfusedTensorsAsDebugTensors, (), ())
  OCTET_TRT_CALL(bool, markWeightsRefittable, (char const* name), (name))
  OCTET_TRT_CALL(bool, unmarkWeightsRefittable, (char const* name), (name))
  OCTET_TRT_ASK(bool, areWeightsMarkedRefittable, (char const* name), (name))
#else
  OCTET_TRT_CALL(IConvolutionLayer*, addConvolution,
                 (ITensor & input, int32_t nbOutputMaps, DimsHW kernelSize, Weights kernelWeights,
                  Weights biasWeights),
                 (input, nbOutputMaps, kernelSize, kernelWeights, biasWeights))
  OCTET_TRT_CALL(IDeconvolutionLayer*, addDeconvolution,
                 (ITensor & input, int32_t nbOutputMaps, DimsHW kernelSize, Weights kernelWeights,
                  Weights biasWeights),
                 (input, nbOutputMaps, kernelSize, kernelWeights, biasWeights))
  OCTET_TRT_CALL(IPoolingLayer*, addPooling, (ITensor & input, PoolingType type, DimsHW windowSize),
                 (input, type, windowSize))
  OCTET_TRT_CALL(IPaddingLayer*, addPadding,
                 (ITensor & input, DimsHW prePadding, DimsHW postPadding),
                 (input, prePadding, postPadding))
  OCTET_TRT_CALL(IFullyConnectedLayer*, addFullyConnected,
                 (ITensor & input, int32_t nbOutputs, Weights kernelWeights, Weights biasWeights),
                 (input, nbOutputs, kernelWeights, biasWeights))
  OCTET_TRT_ASK(bool, hasExplicitPrecision, (), ())
#endif
  OCTET_TRT_ASK(int32_t, getNbLayers, (), ())
  OCTET_TRT_ASK(ILayer*, getLayer, (int32_t index), (index))
  OCTET_TRT_ASK(int32_t, getNbInputs, (), ())
  OCTET_TRT_ASK(ITensor*, getInput, (int32_t index), (index))
  OCTET_TRT_ASK(int32_t, getNbOutputs, (), ())
  OCTET_TRT_ASK(ITensor*, getOutput, (int32_t index), (index))
  OCTET_TRT_CALL(void, removeTensor, (ITensor & tensor), (tensor))
  OCTET_TRT_CALL(void, setName, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getName, (), ())
  OCTET_TRT_ASK(bool, hasImplicitBatchDimension, (), ())
  OCTET_TRT_CALL(bool, markOutputForShapes, (ITensor & tensor), (tensor))
  OCTET_TRT_CALL(bool, unmarkOutputForShapes, (ITensor & tensor), (tensor))
  OCTET_TRT_CALL(bool, setWeightsName, (Weights weights, char const* name), (weights, name))
  OCTET_TRT_CALL(void, setErrorRecorder, (IErrorRecorder * recorder), (recorder))
  OCTET_TRT_ASK(IErrorRecorder*, getErrorRecorder, (), ())
  OCTET_TRT_ASK_OWN(IBuilder&, getBuilder, (), ())
  OCTET_TRT_DESTROY
};

}  // namespace nvinfer1
