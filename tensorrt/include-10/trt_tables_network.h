// SPDX-License-Identifier: Apache-2.0
// Tables of networks, tensors and what all layers have.
#pragma once

#include "trt_tables_types.h"

namespace nvinfer1 {
namespace apiv {

class VTensor : public VRoot {
 public:
  virtual void setName(char const*) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual void setDimensions(Dims const&) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
  virtual void setType(DataType) noexcept = 0;
  virtual DataType getType() const noexcept = 0;
  virtual bool setDynamicRange(float, float) noexcept = 0;
  virtual bool isNetworkInput() const noexcept = 0;
  virtual bool isNetworkOutput() const noexcept = 0;
  virtual void setBroadcastAcrossBatch(bool) noexcept = 0;
  virtual bool getBroadcastAcrossBatch() const noexcept = 0;
  virtual TensorLocation getLocation() const noexcept = 0;
  virtual void setLocation(TensorLocation) noexcept = 0;
  virtual bool dynamicRangeIsSet() const noexcept = 0;
  virtual void resetDynamicRange() noexcept = 0;
  virtual float getDynamicRangeMin() const noexcept = 0;
  virtual float getDynamicRangeMax() const noexcept = 0;
  virtual void setAllowedFormats(uint32_t) noexcept = 0;
  virtual uint32_t getAllowedFormats() const noexcept = 0;
  virtual bool isShapeTensor() const noexcept = 0;
  virtual bool isExecutionTensor() const noexcept = 0;
  virtual void setDimensionName(int32_t, char const*) noexcept = 0;
  virtual char const* getDimensionName(int32_t) const noexcept = 0;
};

class VLayer : public VRoot {
 public:
  virtual LayerType getType() const noexcept = 0;
  virtual void setName(char const*) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t) const noexcept = 0;
  virtual void setInput(int32_t, ITensor&) noexcept = 0;
  virtual void setPrecision(DataType) noexcept = 0;
  virtual DataType getPrecision() const noexcept = 0;
  virtual bool precisionIsSet() const noexcept = 0;
  virtual void resetPrecision() noexcept = 0;
  virtual void setOutputType(int32_t, DataType) noexcept = 0;
  virtual DataType getOutputType(int32_t) const noexcept = 0;
  virtual bool outputTypeIsSet(int32_t) const noexcept = 0;
  virtual void resetOutputType(int32_t) noexcept = 0;
  virtual void setMetadata(char const*) noexcept = 0;
  virtual char const* getMetadata() const noexcept = 0;
  virtual bool setNbRanks(int32_t) noexcept = 0;
  virtual int32_t getNbRanks() const noexcept = 0;
};

class VNetworkDefinition : public VRoot {
 public:
  virtual ITensor* addInput(char const*, DataType, Dims const&) noexcept = 0;
  virtual void markOutput(ITensor&) noexcept = 0;
  virtual IActivationLayer* addActivation(ITensor&, ActivationType) noexcept = 0;
  virtual ILRNLayer* addLRN(ITensor&, int64_t, float, float, float) noexcept = 0;
  virtual IScaleLayer* addScale(ITensor&, ScaleMode, Weights, Weights, Weights) noexcept = 0;
  virtual ISoftMaxLayer* addSoftMax(ITensor&) noexcept = 0;
  virtual IConcatenationLayer* addConcatenation(ITensor* const*, int32_t) noexcept = 0;
  virtual IElementWiseLayer* addElementWise(ITensor&, ITensor&, ElementWiseOperation) noexcept = 0;
  virtual IUnaryLayer* addUnary(ITensor&, UnaryOperation) noexcept = 0;
  virtual IShuffleLayer* addShuffle(ITensor&) noexcept = 0;
  virtual int32_t getNbLayers() const noexcept = 0;
  virtual ILayer* getLayer(int32_t) const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t) const noexcept = 0;
  virtual IReduceLayer* addReduce(ITensor&, ReduceOperation, uint32_t, bool) noexcept = 0;
  virtual ITopKLayer* addTopK(ITensor&, TopKOperation, int32_t, uint32_t) noexcept = 0;
  virtual IGatherLayer* addGather(ITensor&, ITensor&, int32_t) noexcept = 0;
  virtual IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor&, ITensor&) noexcept = 0;
  virtual IMatrixMultiplyLayer* addMatrixMultiply(ITensor&, MatrixOperation, ITensor&,
                                                  MatrixOperation) noexcept = 0;
  virtual IConstantLayer* addConstant(Dims const&, Weights) noexcept = 0;
  virtual IIdentityLayer* addIdentity(ITensor&) noexcept = 0;
  virtual void removeTensor(ITensor&) noexcept = 0;
  virtual void unmarkOutput(ITensor&) noexcept = 0;
  virtual IPluginV2Layer* addPluginV2(ITensor* const*, int32_t, IPluginV2&) noexcept = 0;
  virtual IPluginV3Layer* addPluginV3(ITensor* const*, int32_t, ITensor* const*, int32_t,
                                      IPluginV3&) noexcept = 0;
  virtual ISliceLayer* addSlice(ITensor&, Dims const&, Dims const&, Dims const&) noexcept = 0;
  virtual void setName(char const*) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual IShapeLayer* addShape(ITensor&) noexcept = 0;
  virtual bool hasImplicitBatchDimension() const noexcept = 0;
  virtual bool markOutputForShapes(ITensor&) noexcept = 0;
  virtual bool unmarkOutputForShapes(ITensor&) noexcept = 0;
  virtual IParametricReLULayer* addParametricReLU(ITensor&, ITensor&) noexcept = 0;
  virtual IConvolutionLayer* addConvolutionNd(ITensor&, int64_t, Dims const&, Weights,
                                              Weights) noexcept = 0;
  virtual IPoolingLayer* addPoolingNd(ITensor&, PoolingType, Dims const&) noexcept = 0;
  virtual IDeconvolutionLayer* addDeconvolutionNd(ITensor&, int64_t, Dims const&, Weights,
                                                  Weights) noexcept = 0;
  virtual IScaleLayer* addScaleNd(ITensor&, ScaleMode, Weights, Weights, Weights,
                                  int32_t) noexcept = 0;
  virtual IResizeLayer* addResize(ITensor&) noexcept = 0;
  virtual ILoop* addLoop() noexcept = 0;
  virtual ISelectLayer* addSelect(ITensor&, ITensor&, ITensor&) noexcept = 0;
  virtual IFillLayer* addFill(Dims const&, FillOperation) noexcept = 0;
  virtual IPaddingLayer* addPaddingNd(ITensor&, Dims const&, Dims const&) noexcept = 0;
  virtual bool setWeightsName(Weights, char const*) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder*) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual IDequantizeLayer* addDequantize(ITensor&, ITensor&) noexcept = 0;
  virtual IQuantizeLayer* addQuantize(ITensor&, ITensor&) noexcept = 0;
  virtual IGatherLayer* addGatherV2(ITensor&, ITensor&, GatherMode) noexcept = 0;
  virtual IIfConditional* addIfConditional() noexcept = 0;
  virtual IScatterLayer* addScatter(ITensor&, ITensor&, ITensor&, ScatterMode) noexcept = 0;
  virtual IEinsumLayer* addEinsum(ITensor* const*, int32_t, char const*) noexcept = 0;
  virtual IAssertionLayer* addAssertion(ITensor&, char const*) noexcept = 0;
  virtual IOneHotLayer* addOneHot(ITensor&, ITensor&, ITensor&, int32_t) noexcept = 0;
  virtual INonZeroLayer* addNonZero(ITensor&) noexcept = 0;
  virtual IGridSampleLayer* addGridSample(ITensor&, ITensor&) noexcept = 0;
  virtual INMSLayer* addNMS(ITensor&, ITensor&, ITensor&) noexcept = 0;
  virtual IReverseSequenceLayer* addReverseSequence(ITensor&, ITensor&) noexcept = 0;
  virtual INormalizationLayer* addNormalization(ITensor&, ITensor&, ITensor&,
                                                uint32_t) noexcept = 0;
  virtual ICastLayer* addCast(ITensor&, DataType) noexcept = 0;
  virtual IBuilder& getBuilder() const noexcept = 0;
  virtual uint32_t getFlags() const noexcept = 0;
  virtual bool getFlag(NetworkDefinitionCreationFlag) const noexcept = 0;
  virtual IQuantizeLayer* addQuantizeV2(ITensor&, ITensor&, DataType) noexcept = 0;
  virtual IDequantizeLayer* addDequantizeV2(ITensor&, ITensor&, DataType) noexcept = 0;
  virtual IFillLayer* addFillV2(Dims const&, FillOperation, DataType) noexcept = 0;
  virtual bool markDebug(ITensor&) noexcept = 0;
  virtual bool unmarkDebug(ITensor&) noexcept = 0;
  virtual bool isDebugTensor(ITensor const&) const noexcept = 0;
  virtual bool markWeightsRefittable(char const*) noexcept = 0;
  virtual bool unmarkWeightsRefittable(char const*) noexcept = 0;
  virtual bool areWeightsMarkedRefittable(char const*) const noexcept = 0;
  virtual ISqueezeLayer* addSqueeze(ITensor&, ITensor&) noexcept = 0;
  virtual IUnsqueezeLayer* addUnsqueeze(ITensor&, ITensor&) noexcept = 0;
  virtual IDynamicQuantizeLayer* addDynamicQuantize(ITensor&, int32_t, int32_t, DataType,
                                                    DataType) noexcept = 0;
  virtual ICumulativeLayer* addCumulative(ITensor&, ITensor&, CumulativeOperation, bool,
                                          bool) noexcept = 0;
  virtual bool markUnfusedTensorsAsDebugTensors() noexcept = 0;
  virtual bool unmarkUnfusedTensorsAsDebugTensors() noexcept = 0;
  virtual ITopKLayer* addTopKV2(ITensor&, TopKOperation, int32_t, uint32_t, DataType) noexcept = 0;
  virtual INonZeroLayer* addNonZeroV2(ITensor&, DataType) noexcept = 0;
  virtual INMSLayer* addNMSV2(ITensor&, ITensor&, ITensor&, DataType) noexcept = 0;
  virtual IAttention* addAttention(ITensor&, ITensor&, ITensor&, AttentionNormalizationOp,
                                   bool) noexcept = 0;
  virtual IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor&, ITensor&, ITensor&, bool,
                                                    int32_t) noexcept = 0;
  virtual IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor&, Dims const&, DataType,
                                                      DataType) noexcept = 0;
  virtual IKVCacheUpdateLayer* addKVCacheUpdate(ITensor&, ITensor&, ITensor&,
                                                KVCacheMode) noexcept = 0;
  virtual INormalizationLayer* addNormalizationV2(ITensor&, ITensor&, ITensor&,
                                                  uint32_t) noexcept = 0;
  virtual IMoELayer* addMoE(ITensor&, ITensor&, ITensor&) noexcept = 0;
  virtual IDistCollectiveLayer* addDistCollective(ITensor&, CollectiveOperation, ReduceOperation,
                                                  int64_t, int64_t*, int64_t) noexcept = 0;
};

}  // namespace apiv
}  // namespace nvinfer1
