// SPDX-License-Identifier: Apache-2.0
// Loops, conditions, the elder recurrent layer and the selector of algorithms: declared, so that programs that know of them compile. Networks
// refuse to make them, and say why; models that hold loops and conditions are parsed.
#pragma once

#include "trt_layers_shape.h"

namespace nvinfer1 {

class ILoop;
class IIfConditional;

enum class TripLimit : int32_t { kCOUNT = 0, kWHILE = 1 };
OCTET_TRT_ENUM_MAX(TripLimit, 2)
enum class LoopOutput : int32_t { kLAST_VALUE = 0, kCONCATENATE = 1, kREVERSE = 2 };
OCTET_TRT_ENUM_MAX(LoopOutput, 3)

class ILoopBoundaryLayer : public ILayer {
 public:
  virtual ILoop* getLoop() const noexcept = 0;
};
class IRecurrenceLayer : public ILoopBoundaryLayer {};
class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  virtual TripLimit getTripLimit() const noexcept = 0;
};
class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setReverse(bool reverse) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;
};
class ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  virtual LoopOutput getLoopOutput() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};
class ILoop : public INoCopy {
 public:
  virtual IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept = 0;
  virtual ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept = 0;
  virtual IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0,
                                      bool reverse = false) noexcept = 0;
  virtual ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                          int32_t axis = 0) noexcept = 0;
  virtual void setName(char const* name) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
};

class IIfConditionalBoundaryLayer : public ILayer {
 public:
  virtual IIfConditional* getConditional() const noexcept = 0;
};
class IConditionLayer : public IIfConditionalBoundaryLayer {};
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {};
class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {};
class IIfConditional : public INoCopy {
 public:
  virtual IConditionLayer* setCondition(ITensor& condition) noexcept = 0;
  virtual IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput,
                                               ITensor& falseSubgraphOutput) noexcept = 0;
  virtual IIfConditionalInputLayer* addInput(ITensor& input) noexcept = 0;
  virtual void setName(char const* name) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
};

#if NV_TENSORRT_MAJOR >= 10
// Layers that networks refuse.
enum class KVCacheMode : int32_t { kLINEAR = 0 };
OCTET_TRT_ENUM_MAX(KVCacheMode, 1)
enum class MoEActType : int32_t { kNONE = 0, kSILU = 1 };
OCTET_TRT_ENUM_MAX(MoEActType, 2)
class IKVCacheUpdateLayer : public ILayer {
 public:
  virtual void setCacheMode(KVCacheMode value) noexcept = 0;
  virtual KVCacheMode getCacheMode() const noexcept = 0;
};
class IDynamicQuantizeLayer : public ILayer {
 public:
  virtual void setToType(DataType value) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
  virtual void setScaleType(DataType value) noexcept = 0;
  virtual DataType getScaleType() const noexcept = 0;
  virtual void setAxis(int32_t value) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setBlockSize(int32_t value) noexcept = 0;
  virtual int32_t getBlockSize() const noexcept = 0;
  virtual void setBlockShape(Dims const& value) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;
};
class IMoELayer : public ILayer {
 public:
  virtual void setActivationType(MoEActType value) noexcept = 0;
  virtual MoEActType getActivationType() const noexcept = 0;
  virtual void setQuantizationToType(DataType value) noexcept = 0;
  virtual DataType getQuantizationToType() const noexcept = 0;
  virtual void setQuantizationBlockShape(Dims const& value) noexcept = 0;
  virtual Dims getQuantizationBlockShape() const noexcept = 0;
  virtual void setDynQOutputScaleType(DataType value) noexcept = 0;
  virtual DataType getDynQOutputScaleType() const noexcept = 0;
  virtual void setSwigluParamLimit(float value) noexcept = 0;
  virtual float getSwigluParamLimit() const noexcept = 0;
  virtual void setSwigluParamAlpha(float value) noexcept = 0;
  virtual float getSwigluParamAlpha() const noexcept = 0;
  virtual void setSwigluParamBeta(float value) noexcept = 0;
  virtual float getSwigluParamBeta() const noexcept = 0;
  virtual void setGatedWeights(ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights,
                               MoEActType activationType) noexcept = 0;
  virtual void setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases,
                              ITensor& fcDownBiases) noexcept = 0;
  virtual void setQuantizationStatic(ITensor& fcDownActivationScale,
                                     DataType dataType) noexcept = 0;
  virtual void setQuantizationDynamicDblQ(ITensor& fcDownActivationDblQScale, DataType dataType,
                                          Dims const& blockShape,
                                          DataType dynQOutputScaleType) noexcept = 0;
  virtual void setSwigluParams(float limit, float alpha, float beta) noexcept = 0;
};

enum class AttentionNormalizationOp : int32_t { kNONE = 0, kSOFTMAX = 1 };
OCTET_TRT_ENUM_MAX(AttentionNormalizationOp, 2)

class IAttention;
class IAttentionBoundaryLayer : public ILayer {
 public:
  virtual IAttention* getAttention() const noexcept = 0;
};
class IAttentionInputLayer : public IAttentionBoundaryLayer {};
class IAttentionOutputLayer : public IAttentionBoundaryLayer {};
class IAttention : public INoCopy {
 public:
  virtual bool setNormalizationOperation(AttentionNormalizationOp op) noexcept = 0;
  virtual AttentionNormalizationOp getNormalizationOperation() const noexcept = 0;
  virtual bool setMask(ITensor& mask) noexcept = 0;
  virtual ITensor* getMask() noexcept = 0;
  virtual bool setCausal(bool isCausal) noexcept = 0;
  virtual bool getCausal() const noexcept = 0;
  virtual bool setDecomposable(bool decomposable) noexcept = 0;
  virtual bool getDecomposable() const noexcept = 0;
  virtual bool setInput(int32_t index, ITensor& input) noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;
  virtual bool setName(char const* name) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
};
#endif

class IRaggedSoftMaxLayer : public ILayer {};

class IAlgorithmIOInfo : public INoCopy {
 public:
  virtual DataType getDataType() const noexcept = 0;
  virtual Dims getStrides() const noexcept = 0;
};
class IAlgorithmVariant : public INoCopy {
 public:
  virtual int64_t getImplementation() const noexcept = 0;
  virtual int64_t getTactic() const noexcept = 0;
};
class IAlgorithmContext : public INoCopy {
 public:
  virtual char const* getName() const noexcept = 0;
  virtual Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
};
class IAlgorithm : public INoCopy {
 public:
  virtual IAlgorithmVariant const& getAlgorithmVariant() const noexcept = 0;
  virtual float getTimingMSec() const noexcept = 0;
  virtual std::size_t getWorkspaceSize() const noexcept = 0;
  virtual IAlgorithmIOInfo const* getAlgorithmIOInfoByIndex(int32_t index) const noexcept = 0;
};
class IAlgorithmSelector : public IVersionedInterface {
 public:
  virtual int32_t selectAlgorithms(IAlgorithmContext const& context,
                                   IAlgorithm const* const* choices, int32_t nbChoices,
                                   int32_t* selection) TRTNOEXCEPT = 0;
  virtual void reportAlgorithms(IAlgorithmContext const* const* algoContexts,
                                IAlgorithm const* const* algoChoices,
                                int32_t nbAlgorithms) TRTNOEXCEPT = 0;
  ~IAlgorithmSelector() noexcept override = default;
};

#if NV_TENSORRT_MAJOR < 10
enum class RNNOperation : int32_t { kRELU = 0, kTANH = 1, kLSTM = 2, kGRU = 3 };
OCTET_TRT_ENUM_MAX(RNNOperation, 4)
enum class RNNDirection : int32_t { kUNIDIRECTION = 0, kBIDIRECTION = 1 };
OCTET_TRT_ENUM_MAX(RNNDirection, 2)
enum class RNNInputMode : int32_t { kLINEAR = 0, kSKIP = 1 };
OCTET_TRT_ENUM_MAX(RNNInputMode, 2)
enum class RNNGateType : int32_t {
  kINPUT = 0,
  kOUTPUT = 1,
  kFORGET = 2,
  kUPDATE = 3,
  kRESET = 4,
  kCELL = 5,
  kHIDDEN = 6,
};
OCTET_TRT_ENUM_MAX(RNNGateType, 7)

class IRNNv2Layer : public ILayer {
 public:
  virtual int32_t getLayerCount() const noexcept = 0;
  virtual int32_t getHiddenSize() const noexcept = 0;
  virtual int32_t getMaxSeqLength() const noexcept = 0;
  virtual int32_t getDataLength() const noexcept = 0;
  virtual void setSequenceLengths(ITensor& seqLengths) noexcept = 0;
  virtual void setOperation(RNNOperation op) noexcept = 0;
  virtual void setInputMode(RNNInputMode op) noexcept = 0;
  virtual void setDirection(RNNDirection op) noexcept = 0;
  virtual void setWeightsForGate(int32_t layerIndex, RNNGateType gate, bool isW,
                                 Weights weights) noexcept = 0;
  virtual void setBiasForGate(int32_t layerIndex, RNNGateType gate, bool isW,
                              Weights bias) noexcept = 0;
  virtual void setHiddenState(ITensor& hidden) noexcept = 0;
  virtual void setCellState(ITensor& cell) noexcept = 0;
};
#endif

}  // namespace nvinfer1
