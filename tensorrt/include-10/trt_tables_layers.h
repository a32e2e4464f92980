// SPDX-License-Identifier: Apache-2.0
// Tables of layers, A to L.
#pragma once

#include "trt_tables_types.h"

namespace nvinfer1 {
namespace apiv {

class VActivationLayer : public VRoot {
 public:
  virtual void setActivationType(ActivationType) noexcept = 0;
  virtual ActivationType getActivationType() const noexcept = 0;
  virtual void setAlpha(float) noexcept = 0;
  virtual void setBeta(float) noexcept = 0;
  virtual float getAlpha() const noexcept = 0;
  virtual float getBeta() const noexcept = 0;
};

class VAssertionLayer : public VRoot {
 public:
  virtual void setMessage(char const*) noexcept = 0;
  virtual char const* getMessage() const noexcept = 0;
};

class VAttention : public VRoot {
 public:
  virtual bool setInput(int32_t, ITensor&) noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t) const noexcept = 0;
  virtual bool setName(char const*) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual bool setNormalizationOperation(AttentionNormalizationOp) noexcept = 0;
  virtual AttentionNormalizationOp getNormalizationOperation() const noexcept = 0;
  virtual bool setCausal(bool) noexcept = 0;
  virtual bool getCausal() const noexcept = 0;
  virtual bool setMask(ITensor&) noexcept = 0;
  virtual ITensor* getMask() const noexcept = 0;
  virtual bool setDecomposable(bool) noexcept = 0;
  virtual bool getDecomposable() const noexcept = 0;
  virtual bool setNormalizationQuantizeScale(ITensor&) noexcept = 0;
  virtual ITensor* getNormalizationQuantizeScale() const noexcept = 0;
  virtual bool setNormalizationQuantizeToType(DataType) noexcept = 0;
  virtual DataType getNormalizationQuantizeToType() const noexcept = 0;
  virtual bool setMetadata(char const*) noexcept = 0;
  virtual char const* getMetadata() const noexcept = 0;
  virtual bool setNbRanks(int32_t) noexcept = 0;
  virtual int32_t getNbRanks() const noexcept = 0;
};

class VAttentionBoundaryLayer : public VRoot {
 public:
  virtual IAttention* getAttention() const noexcept = 0;
};

class VAttentionInputLayer : public VRoot {};

class VAttentionOutputLayer : public VRoot {};

class VCastLayer : public VRoot {
 public:
  virtual void setToType(DataType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
};

class VConcatenationLayer : public VRoot {
 public:
  virtual void setAxis(int32_t) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

class VConditionLayer : public VRoot {};

class VConditionalBoundaryLayer : public VRoot {
 public:
  virtual IIfConditional* getConditional() const noexcept = 0;
};

class VConditionalInputLayer : public VRoot {};

class VConditionalOutputLayer : public VRoot {};

class VConstantLayer : public VRoot {
 public:
  virtual void setWeights(Weights) noexcept = 0;
  virtual Weights getWeights() const noexcept = 0;
  virtual void setDimensions(Dims const&) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
};

class VConvolutionLayer : public VRoot {
 public:
  virtual void setNbOutputMaps(int64_t) noexcept = 0;
  virtual int64_t getNbOutputMaps() const noexcept = 0;
  virtual void setNbGroups(int64_t) noexcept = 0;
  virtual int64_t getNbGroups() const noexcept = 0;
  virtual void setKernelWeights(Weights) noexcept = 0;
  virtual Weights getKernelWeights() const noexcept = 0;
  virtual void setBiasWeights(Weights) noexcept = 0;
  virtual Weights getBiasWeights() const noexcept = 0;
  virtual void setPrePadding(Dims const&) noexcept = 0;
  virtual Dims getPrePadding() const noexcept = 0;
  virtual void setPostPadding(Dims const&) noexcept = 0;
  virtual Dims getPostPadding() const noexcept = 0;
  virtual void setPaddingMode(PaddingMode) noexcept = 0;
  virtual PaddingMode getPaddingMode() const noexcept = 0;
  virtual void setKernelSizeNd(Dims const&) noexcept = 0;
  virtual Dims getKernelSizeNd() const noexcept = 0;
  virtual void setStrideNd(Dims const&) noexcept = 0;
  virtual Dims getStrideNd() const noexcept = 0;
  virtual void setPaddingNd(Dims const&) noexcept = 0;
  virtual Dims getPaddingNd() const noexcept = 0;
  virtual void setDilationNd(Dims const&) noexcept = 0;
  virtual Dims getDilationNd() const noexcept = 0;
};

class VCumulativeLayer : public VRoot {
 public:
  virtual bool setOperation(CumulativeOperation) noexcept = 0;
  virtual CumulativeOperation getOperation() const noexcept = 0;
  virtual void setExclusive(bool) noexcept = 0;
  virtual bool getExclusive() const noexcept = 0;
  virtual void setReverse(bool) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;
};

class VDeconvolutionLayer : public VRoot {
 public:
  virtual void setNbOutputMaps(int64_t) noexcept = 0;
  virtual int64_t getNbOutputMaps() const noexcept = 0;
  virtual void setNbGroups(int64_t) noexcept = 0;
  virtual int64_t getNbGroups() const noexcept = 0;
  virtual void setKernelWeights(Weights) noexcept = 0;
  virtual Weights getKernelWeights() const noexcept = 0;
  virtual void setBiasWeights(Weights) noexcept = 0;
  virtual Weights getBiasWeights() const noexcept = 0;
  virtual void setPrePadding(Dims const&) noexcept = 0;
  virtual Dims getPrePadding() const noexcept = 0;
  virtual void setPostPadding(Dims const&) noexcept = 0;
  virtual Dims getPostPadding() const noexcept = 0;
  virtual void setPaddingMode(PaddingMode) noexcept = 0;
  virtual PaddingMode getPaddingMode() const noexcept = 0;
  virtual void setKernelSizeNd(Dims const&) noexcept = 0;
  virtual Dims getKernelSizeNd() const noexcept = 0;
  virtual void setStrideNd(Dims const&) noexcept = 0;
  virtual Dims getStrideNd() const noexcept = 0;
  virtual void setPaddingNd(Dims const&) noexcept = 0;
  virtual Dims getPaddingNd() const noexcept = 0;
  virtual void setDilationNd(Dims const&) noexcept = 0;
  virtual Dims getDilationNd() const noexcept = 0;
};

class VDequantizeLayer : public VRoot {
 public:
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
  virtual void setToType(DataType) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;
  virtual bool setBlockShape(Dims const&) noexcept = 0;
};

class VDistCollectiveLayer : public VRoot {};

class VDynamicQuantizeLayer : public VRoot {
 public:
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t) noexcept = 0;
  virtual int32_t getBlockSize() const noexcept = 0;
  virtual void setBlockSize(int32_t) noexcept = 0;
  virtual DataType getScaleType() const noexcept = 0;
  virtual void setScaleType(DataType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
  virtual void setToType(DataType) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;
  virtual void setBlockShape(Dims const&) noexcept = 0;
};

class VEinsumLayer : public VRoot {
 public:
  virtual bool setEquation(char const*) noexcept = 0;
  virtual char const* getEquation() const noexcept = 0;
};

class VElementWiseLayer : public VRoot {
 public:
  virtual void setOperation(ElementWiseOperation) noexcept = 0;
  virtual ElementWiseOperation getOperation() const noexcept = 0;
};

class VFillLayer : public VRoot {
 public:
  virtual void setDimensions(Dims const&) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
  virtual void setOperation(FillOperation) noexcept = 0;
  virtual FillOperation getOperation() const noexcept = 0;
  virtual void setAlpha(double) noexcept = 0;
  virtual double getAlpha() const noexcept = 0;
  virtual void setBeta(double) noexcept = 0;
  virtual double getBeta() const noexcept = 0;
  virtual void setAlphaInt64(int64_t) noexcept = 0;
  virtual int64_t getAlphaInt64() const noexcept = 0;
  virtual void setBetaInt64(int64_t) noexcept = 0;
  virtual int64_t getBetaInt64() const noexcept = 0;
  virtual bool isAlphaBetaInt64() const noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
  virtual void setToType(DataType) noexcept = 0;
};

class VGatherLayer : public VRoot {
 public:
  virtual void setGatherAxis(int32_t) noexcept = 0;
  virtual int32_t getGatherAxis() const noexcept = 0;
  virtual void setNbElementWiseDims(int32_t) noexcept = 0;
  virtual int32_t getNbElementWiseDims() const noexcept = 0;
  virtual void setMode(GatherMode) noexcept = 0;
  virtual GatherMode getMode() const noexcept = 0;
};

class VGridSampleLayer : public VRoot {
 public:
  virtual void setInterpolationMode(InterpolationMode) noexcept = 0;
  virtual InterpolationMode getInterpolationMode() const noexcept = 0;
  virtual void setAlignCorners(bool) noexcept = 0;
  virtual bool getAlignCorners() const noexcept = 0;
  virtual bool setSampleMode(SampleMode) noexcept = 0;
  virtual SampleMode getSampleMode() const noexcept = 0;
};

class VIdentityLayer : public VRoot {};

class VIfConditional : public VRoot {
 public:
  virtual IConditionLayer* setCondition(ITensor&) noexcept = 0;
  virtual IIfConditionalInputLayer* addInput(ITensor&) noexcept = 0;
  virtual IIfConditionalOutputLayer* addOutput(ITensor&, ITensor&) noexcept = 0;
  virtual void setName(char const*) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
};

class VIteratorLayer : public VRoot {
 public:
  virtual void setAxis(int32_t) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setReverse(bool) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;
};

class VKVCacheUpdateLayer : public VRoot {
 public:
  virtual bool setCacheMode(KVCacheMode) noexcept = 0;
  virtual KVCacheMode getCacheMode() const noexcept = 0;
};

class VLRNLayer : public VRoot {
 public:
  virtual void setWindowSize(int64_t) noexcept = 0;
  virtual int64_t getWindowSize() const noexcept = 0;
  virtual void setAlpha(float) noexcept = 0;
  virtual float getAlpha() const noexcept = 0;
  virtual void setBeta(float) noexcept = 0;
  virtual float getBeta() const noexcept = 0;
  virtual void setK(float) noexcept = 0;
  virtual float getK() const noexcept = 0;
};

}  // namespace apiv
}  // namespace nvinfer1
