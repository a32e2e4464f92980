// SPDX-License-Identifier: Apache-2.0
// Tables of layers, M to Z.
#pragma once

#include "trt_tables_types.h"

namespace nvinfer1 {
namespace apiv {

class VLoop : public VRoot {
 public:
  virtual IRecurrenceLayer* addRecurrence(ITensor&) noexcept = 0;
  virtual ITripLimitLayer* addTripLimit(ITensor&, TripLimit) noexcept = 0;
  virtual IIteratorLayer* addIterator(ITensor&, int32_t, bool) noexcept = 0;
  virtual ILoopOutputLayer* addLoopOutput(ITensor&, LoopOutput, int32_t) noexcept = 0;
  virtual void setName(char const*) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
};

class VLoopBoundaryLayer : public VRoot {
 public:
  virtual ILoop* getLoop() const noexcept = 0;
};

class VLoopOutputLayer : public VRoot {
 public:
  virtual LoopOutput getLoopOutput() const noexcept = 0;
  virtual void setAxis(int32_t) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

class VMatrixMultiplyLayer : public VRoot {
 public:
  virtual void setOperation(int32_t, MatrixOperation) noexcept = 0;
  virtual MatrixOperation getOperation(int32_t) const noexcept = 0;
};

class VMoELayer : public VRoot {
 public:
  virtual void setGatedWeights(ITensor&, ITensor&, ITensor&, MoEActType) noexcept = 0;
  virtual void setGatedBiases(ITensor&, ITensor&, ITensor&) noexcept = 0;
  virtual void setActivationType(MoEActType) noexcept = 0;
  virtual MoEActType getActivationType() const noexcept = 0;
  virtual void setQuantizationStatic(ITensor&, DataType) noexcept = 0;
  virtual void setQuantizationDynamicDblQ(ITensor&, DataType, Dims const&, DataType) noexcept = 0;
  virtual void setQuantizationToType(DataType) noexcept = 0;
  virtual DataType getQuantizationToType() const noexcept = 0;
  virtual void setQuantizationBlockShape(Dims const&) noexcept = 0;
  virtual Dims getQuantizationBlockShape() const noexcept = 0;
  virtual void setDynQOutputScaleType(DataType) noexcept = 0;
  virtual DataType getDynQOutputScaleType() const noexcept = 0;
  virtual void setSwigluParams(float, float, float) noexcept = 0;
  virtual void setSwigluParamLimit(float) noexcept = 0;
  virtual float getSwigluParamLimit() const noexcept = 0;
  virtual void setSwigluParamAlpha(float) noexcept = 0;
  virtual float getSwigluParamAlpha() const noexcept = 0;
  virtual void setSwigluParamBeta(float) noexcept = 0;
  virtual float getSwigluParamBeta() const noexcept = 0;
  virtual void setInput(int32_t, ITensor&) noexcept = 0;
};

class VNMSLayer : public VRoot {
 public:
  virtual void setBoundingBoxFormat(BoundingBoxFormat) noexcept = 0;
  virtual BoundingBoxFormat getBoundingBoxFormat() const noexcept = 0;
  virtual void setTopKBoxLimit(int32_t) noexcept = 0;
  virtual int32_t getTopKBoxLimit() const noexcept = 0;
  virtual bool setIndicesType(DataType) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;
};

class VNonZeroLayer : public VRoot {
 public:
  virtual bool setIndicesType(DataType) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;
};

class VNormalizationLayer : public VRoot {
 public:
  virtual void setEpsilon(float) noexcept = 0;
  virtual float getEpsilon() const noexcept = 0;
  virtual void setAxes(uint32_t) noexcept = 0;
  virtual uint32_t getAxes() const noexcept = 0;
  virtual void setNbGroups(int64_t) noexcept = 0;
  virtual int64_t getNbGroups() const noexcept = 0;
  virtual void setComputePrecision(DataType) noexcept = 0;
  virtual DataType getComputePrecision() const noexcept = 0;
  virtual bool isV2() const noexcept = 0;
};

class VOneHotLayer : public VRoot {
 public:
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t) noexcept = 0;
};

class VPaddingLayer : public VRoot {
 public:
  virtual void setPrePaddingNd(Dims const&) noexcept = 0;
  virtual Dims getPrePaddingNd() const noexcept = 0;
  virtual void setPostPaddingNd(Dims const&) noexcept = 0;
  virtual Dims getPostPaddingNd() const noexcept = 0;
};

class VParametricReLULayer : public VRoot {};

class VPluginV2Layer : public VRoot {
 public:
  virtual IPluginV2& getPlugin() noexcept = 0;
};

class VPluginV3Layer : public VRoot {
 public:
  virtual IPluginV3& getPlugin() noexcept = 0;
};

class VPoolingLayer : public VRoot {
 public:
  virtual void setPoolingType(PoolingType) noexcept = 0;
  virtual PoolingType getPoolingType() const noexcept = 0;
  virtual void setBlendFactor(float) noexcept = 0;
  virtual float getBlendFactor() const noexcept = 0;
  virtual void setAverageCountExcludesPadding(bool) noexcept = 0;
  virtual bool getAverageCountExcludesPadding() const noexcept = 0;
  virtual void setPrePadding(Dims const&) noexcept = 0;
  virtual Dims getPrePadding() const noexcept = 0;
  virtual void setPostPadding(Dims const&) noexcept = 0;
  virtual Dims getPostPadding() const noexcept = 0;
  virtual void setPaddingMode(PaddingMode) noexcept = 0;
  virtual PaddingMode getPaddingMode() const noexcept = 0;
  virtual void setWindowSizeNd(Dims const&) noexcept = 0;
  virtual Dims getWindowSizeNd() const noexcept = 0;
  virtual void setStrideNd(Dims const&) noexcept = 0;
  virtual Dims getStrideNd() const noexcept = 0;
  virtual void setPaddingNd(Dims const&) noexcept = 0;
  virtual Dims getPaddingNd() const noexcept = 0;
};

class VQuantizeLayer : public VRoot {
 public:
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
  virtual void setToType(DataType) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;
  virtual bool setBlockShape(Dims const&) noexcept = 0;
};

class VRaggedSoftMaxLayer : public VRoot {};

class VRecurrenceLayer : public VRoot {};

class VReduceLayer : public VRoot {
 public:
  virtual void setOperation(ReduceOperation) noexcept = 0;
  virtual ReduceOperation getOperation() const noexcept = 0;
  virtual void setReduceAxes(uint32_t) noexcept = 0;
  virtual uint32_t getReduceAxes() const noexcept = 0;
  virtual void setKeepDimensions(bool) noexcept = 0;
  virtual bool getKeepDimensions() const noexcept = 0;
};

class VResizeLayer : public VRoot {
 public:
  virtual void setOutputDimensions(Dims const&) noexcept = 0;
  virtual Dims getOutputDimensions() const noexcept = 0;
  virtual void setScales(float const*, int32_t) noexcept = 0;
  virtual int32_t getScales(int32_t, float*) const noexcept = 0;
  virtual void setResizeMode(InterpolationMode) noexcept = 0;
  virtual InterpolationMode getResizeMode() const noexcept = 0;
  virtual void setCoordinateTransformation(ResizeCoordinateTransformation) noexcept = 0;
  virtual ResizeCoordinateTransformation getCoordinateTransformation() const noexcept = 0;
  virtual void setSelectorForSinglePixel(ResizeSelector) noexcept = 0;
  virtual ResizeSelector getSelectorForSinglePixel() const noexcept = 0;
  virtual void setNearestRounding(ResizeRoundMode) noexcept = 0;
  virtual ResizeRoundMode getNearestRounding() const noexcept = 0;
  virtual void setCubicCoeff(float) noexcept = 0;
  virtual float getCubicCoeff() const noexcept = 0;
  virtual void setExcludeOutside(bool) noexcept = 0;
  virtual bool getExcludeOutside() const noexcept = 0;
};

class VReverseSequenceLayer : public VRoot {
 public:
  virtual void setBatchAxis(int32_t) noexcept = 0;
  virtual int32_t getBatchAxis() const noexcept = 0;
  virtual void setSequenceAxis(int32_t) noexcept = 0;
  virtual int32_t getSequenceAxis() const noexcept = 0;
};

class VRotaryEmbeddingLayer : public VRoot {
 public:
  virtual void setInterleaved(bool) noexcept = 0;
  virtual bool getInterleaved() const noexcept = 0;
  virtual bool setRotaryEmbeddingDim(int32_t) noexcept = 0;
  virtual int32_t getRotaryEmbeddingDim() const noexcept = 0;
  virtual void setInput(int32_t, ITensor&) noexcept = 0;
};

class VScaleLayer : public VRoot {
 public:
  virtual void setMode(ScaleMode) noexcept = 0;
  virtual ScaleMode getMode() const noexcept = 0;
  virtual void setShift(Weights) noexcept = 0;
  virtual Weights getShift() const noexcept = 0;
  virtual void setScale(Weights) noexcept = 0;
  virtual Weights getScale() const noexcept = 0;
  virtual void setPower(Weights) noexcept = 0;
  virtual Weights getPower() const noexcept = 0;
  virtual int32_t getChannelAxis() const noexcept = 0;
  virtual void setChannelAxis(int32_t) noexcept = 0;
};

class VScatterLayer : public VRoot {
 public:
  virtual void setMode(ScatterMode) noexcept = 0;
  virtual ScatterMode getMode() const noexcept = 0;
  virtual void setAxis(int32_t) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

class VSelectLayer : public VRoot {};

class VShapeLayer : public VRoot {};

class VShuffleLayer : public VRoot {
 public:
  virtual void setFirstTranspose(Permutation const&) noexcept = 0;
  virtual Permutation const& getFirstTranspose() const noexcept = 0;
  virtual void setReshapeDimensions(Dims const&) noexcept = 0;
  virtual Dims getReshapeDimensions() const noexcept = 0;
  virtual void setSecondTranspose(Permutation const&) noexcept = 0;
  virtual Permutation const& getSecondTranspose() const noexcept = 0;
  virtual void setZeroIsPlaceholder(bool) noexcept = 0;
  virtual bool getZeroIsPlaceholder() const noexcept = 0;
};

class VSliceLayer : public VRoot {
 public:
  virtual void setStart(Dims const&) noexcept = 0;
  virtual Dims getStart() const noexcept = 0;
  virtual void setSize(Dims const&) noexcept = 0;
  virtual Dims getSize() const noexcept = 0;
  virtual void setStride(Dims const&) noexcept = 0;
  virtual Dims getStride() const noexcept = 0;
  virtual void setMode(SampleMode) noexcept = 0;
  virtual SampleMode getMode() const noexcept = 0;
  virtual void setAxes(Dims const&) noexcept = 0;
  virtual Dims getAxes() const noexcept = 0;
};

class VSoftMaxLayer : public VRoot {
 public:
  virtual void setAxes(uint32_t) noexcept = 0;
  virtual uint32_t getAxes() const noexcept = 0;
};

class VSqueezeLayer : public VRoot {};

class VTopKLayer : public VRoot {
 public:
  virtual void setOperation(TopKOperation) noexcept = 0;
  virtual TopKOperation getOperation() const noexcept = 0;
  virtual void setK(int32_t) noexcept = 0;
  virtual int32_t getK() const noexcept = 0;
  virtual void setReduceAxes(uint32_t) noexcept = 0;
  virtual uint32_t getReduceAxes() const noexcept = 0;
  virtual bool setIndicesType(DataType) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;
};

class VTripLimitLayer : public VRoot {
 public:
  virtual TripLimit getTripLimit() const noexcept = 0;
};

class VUnaryLayer : public VRoot {
 public:
  virtual void setOperation(UnaryOperation) noexcept = 0;
  virtual UnaryOperation getOperation() const noexcept = 0;
};

class VUnsqueezeLayer : public VRoot {};

}  // namespace apiv
}  // namespace nvinfer1
