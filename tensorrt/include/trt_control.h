// SPDX-License-Identifier: Apache-2.0
// Loops, conditions and attention; and what is declared, so that programs that know of it compile, but networks refuse to make, and say why: the
// elder recurrent layer, the selector of algorithms and others.
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
  OCTET_TRT_HANDLE_ON(VLoopBoundaryLayer, mBoundary)
 public:
  OCTET_TRT_ASK_ON(mBoundary, ILoop*, getLoop, (), ())
};
class IRecurrenceLayer : public ILoopBoundaryLayer {
  OCTET_TRT_HANDLE(VRecurrenceLayer)
};
class ITripLimitLayer : public ILoopBoundaryLayer {
  OCTET_TRT_HANDLE(VTripLimitLayer)
 public:
  OCTET_TRT_ASK(TripLimit, getTripLimit, (), ())
};
class IIteratorLayer : public ILoopBoundaryLayer {
  OCTET_TRT_HANDLE(VIteratorLayer)
 public:
  OCTET_TRT_CALL(void, setAxis, (int32_t axis), (axis))
  OCTET_TRT_ASK(int32_t, getAxis, (), ())
  OCTET_TRT_CALL(void, setReverse, (bool reverse), (reverse))
  OCTET_TRT_ASK(bool, getReverse, (), ())
};
class ILoopOutputLayer : public ILoopBoundaryLayer {
  OCTET_TRT_HANDLE(VLoopOutputLayer)
 public:
  OCTET_TRT_ASK(LoopOutput, getLoopOutput, (), ())
  OCTET_TRT_CALL(void, setAxis, (int32_t axis), (axis))
  OCTET_TRT_ASK(int32_t, getAxis, (), ())
};
class ILoop : public INoCopy {
  OCTET_TRT_HANDLE(VLoop)
 public:
  OCTET_TRT_CALL(IRecurrenceLayer*, addRecurrence, (ITensor & initialValue), (initialValue))
  OCTET_TRT_CALL(ITripLimitLayer*, addTripLimit, (ITensor & tensor, TripLimit limit),
                 (tensor, limit))
  OCTET_TRT_CALL(IIteratorLayer*, addIterator,
                 (ITensor & tensor, int32_t axis = 0, bool reverse = false),
                 (tensor, axis, reverse))
  OCTET_TRT_CALL(ILoopOutputLayer*, addLoopOutput,
                 (ITensor & tensor, LoopOutput outputKind, int32_t axis = 0),
                 (tensor, outputKind, axis))
  OCTET_TRT_CALL(void, setName, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getName, (), ())
};

class IIfConditionalBoundaryLayer : public ILayer {
  OCTET_TRT_HANDLE_ON(VConditionalBoundaryLayer, mBoundary)
 public:
  OCTET_TRT_ASK_ON(mBoundary, IIfConditional*, getConditional, (), ())
};
class IConditionLayer : public IIfConditionalBoundaryLayer {
  OCTET_TRT_HANDLE(VConditionLayer)
};
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
  OCTET_TRT_HANDLE(VConditionalInputLayer)
};
class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {
  OCTET_TRT_HANDLE(VConditionalOutputLayer)
};
class IIfConditional : public INoCopy {
  OCTET_TRT_HANDLE(VIfConditional)
 public:
  OCTET_TRT_CALL(IConditionLayer*, setCondition, (ITensor & condition), (condition))
  OCTET_TRT_CALL(IIfConditionalOutputLayer*, addOutput,
                 (ITensor & trueSubgraphOutput, ITensor& falseSubgraphOutput),
                 (trueSubgraphOutput, falseSubgraphOutput))
  OCTET_TRT_CALL(IIfConditionalInputLayer*, addInput, (ITensor & input), (input))
  OCTET_TRT_CALL(void, setName, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getName, (), ())
};

#if NV_TENSORRT_MAJOR >= 10
// Layers that networks refuse.
enum class KVCacheMode : int32_t { kLINEAR = 0 };
OCTET_TRT_ENUM_MAX(KVCacheMode, 1)
enum class MoEActType : int32_t { kNONE = 0, kSILU = 1 };
OCTET_TRT_ENUM_MAX(MoEActType, 2)
class IKVCacheUpdateLayer : public ILayer {
  OCTET_TRT_HANDLE(VKVCacheUpdateLayer)
 public:
  OCTET_TRT_CALL(bool, setCacheMode, (KVCacheMode value), (value))
  OCTET_TRT_ASK(KVCacheMode, getCacheMode, (), ())
};
class IDynamicQuantizeLayer : public ILayer {
  OCTET_TRT_HANDLE(VDynamicQuantizeLayer)
 public:
  OCTET_TRT_CALL(void, setToType, (DataType value), (value))
  OCTET_TRT_ASK(DataType, getToType, (), ())
  OCTET_TRT_CALL(void, setScaleType, (DataType value), (value))
  OCTET_TRT_ASK(DataType, getScaleType, (), ())
  OCTET_TRT_CALL(void, setAxis, (int32_t value), (value))
  OCTET_TRT_ASK(int32_t, getAxis, (), ())
  OCTET_TRT_CALL(void, setBlockSize, (int32_t value), (value))
  OCTET_TRT_ASK(int32_t, getBlockSize, (), ())
  OCTET_TRT_CALL(void, setBlockShape, (Dims const& value), (value))
  OCTET_TRT_ASK(Dims, getBlockShape, (), ())
};
class IMoELayer : public ILayer {
  OCTET_TRT_HANDLE(VMoELayer)
 public:
  OCTET_TRT_CALL(void, setActivationType, (MoEActType value), (value))
  OCTET_TRT_ASK(MoEActType, getActivationType, (), ())
  OCTET_TRT_CALL(void, setQuantizationToType, (DataType value), (value))
  OCTET_TRT_ASK(DataType, getQuantizationToType, (), ())
  OCTET_TRT_CALL(void, setQuantizationBlockShape, (Dims const& value), (value))
  OCTET_TRT_ASK(Dims, getQuantizationBlockShape, (), ())
  OCTET_TRT_CALL(void, setDynQOutputScaleType, (DataType value), (value))
  OCTET_TRT_ASK(DataType, getDynQOutputScaleType, (), ())
  OCTET_TRT_CALL(void, setSwigluParamLimit, (float value), (value))
  OCTET_TRT_ASK(float, getSwigluParamLimit, (), ())
  OCTET_TRT_CALL(void, setSwigluParamAlpha, (float value), (value))
  OCTET_TRT_ASK(float, getSwigluParamAlpha, (), ())
  OCTET_TRT_CALL(void, setSwigluParamBeta, (float value), (value))
  OCTET_TRT_ASK(float, getSwigluParamBeta, (), ())
  OCTET_TRT_CALL(void, setGatedWeights,
                 (ITensor & fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights,
                  MoEActType activationType),
                 (fcGateWeights, fcUpWeights, fcDownWeights, activationType))
  OCTET_TRT_CALL(void, setGatedBiases,
                 (ITensor & fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases),
                 (fcGateBiases, fcUpBiases, fcDownBiases))
  OCTET_TRT_CALL(void, setQuantizationStatic, (ITensor & fcDownActivationScale, DataType dataType),
                 (fcDownActivationScale, dataType))
  OCTET_TRT_CALL(void, setQuantizationDynamicDblQ,
                 (ITensor & fcDownActivationDblQScale, DataType dataType, Dims const& blockShape,
                  DataType dynQOutputScaleType),
                 (fcDownActivationDblQScale, dataType, blockShape, dynQOutputScaleType))
  OCTET_TRT_CALL(void, setSwigluParams, (float limit, float alpha, float beta),
                 (limit, alpha, beta))
};

enum class CollectiveOperation : int32_t {
  kALL_REDUCE = 0,
  kALL_GATHER = 1,
  kBROADCAST = 2,
  kREDUCE = 3,
  kREDUCE_SCATTER = 4,
};
OCTET_TRT_ENUM_MAX(CollectiveOperation, 5)
class IDistCollectiveLayer : public ILayer {
  OCTET_TRT_HANDLE(VDistCollectiveLayer)
};

enum class AttentionNormalizationOp : int32_t { kNONE = 0, kSOFTMAX = 1 };
OCTET_TRT_ENUM_MAX(AttentionNormalizationOp, 2)

class IAttention;
class IAttentionBoundaryLayer : public ILayer {
  OCTET_TRT_HANDLE_ON(VAttentionBoundaryLayer, mBoundary)
 public:
  OCTET_TRT_ASK_ON(mBoundary, IAttention*, getAttention, (), ())
};
class IAttentionInputLayer : public IAttentionBoundaryLayer {
  OCTET_TRT_HANDLE(VAttentionInputLayer)
};
class IAttentionOutputLayer : public IAttentionBoundaryLayer {
  OCTET_TRT_HANDLE(VAttentionOutputLayer)
};
class IAttention : public INoCopy {
  OCTET_TRT_HANDLE(VAttention)
 public:
  OCTET_TRT_CALL(bool, setNormalizationOperation, (AttentionNormalizationOp op), (op))
  OCTET_TRT_ASK(AttentionNormalizationOp, getNormalizationOperation, (), ())
  OCTET_TRT_CALL(bool, setMask, (ITensor & mask), (mask))
  OCTET_TRT_CALL(ITensor*, getMask, (), ())
  OCTET_TRT_CALL(bool, setCausal, (bool isCausal), (isCausal))
  OCTET_TRT_ASK(bool, getCausal, (), ())
  OCTET_TRT_CALL(bool, setDecomposable, (bool decomposable), (decomposable))
  OCTET_TRT_ASK(bool, getDecomposable, (), ())
  OCTET_TRT_CALL(bool, setInput, (int32_t index, ITensor& input), (index, input))
  OCTET_TRT_ASK(int32_t, getNbInputs, (), ())
  OCTET_TRT_ASK(ITensor*, getInput, (int32_t index), (index))
  OCTET_TRT_ASK(int32_t, getNbOutputs, (), ())
  OCTET_TRT_ASK(ITensor*, getOutput, (int32_t index), (index))
  OCTET_TRT_CALL(bool, setName, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getName, (), ())
  OCTET_TRT_CALL(bool, setNormalizationQuantizeScale, (ITensor & tensor), (tensor))
  OCTET_TRT_ASK(ITensor*, getNormalizationQuantizeScale, (), ())
  OCTET_TRT_CALL(bool, setNormalizationQuantizeToType, (DataType type), (type))
  OCTET_TRT_ASK(DataType, getNormalizationQuantizeToType, (), ())
  OCTET_TRT_CALL(bool, setMetadata, (char const* metadata), (metadata))
  OCTET_TRT_ASK(char const*, getMetadata, (), ())
  OCTET_TRT_CALL(bool, setNbRanks, (int32_t nbRanks), (nbRanks))
  OCTET_TRT_ASK(int32_t, getNbRanks, (), ())
};
#endif

class IRaggedSoftMaxLayer : public ILayer {
  OCTET_TRT_HANDLE(VRaggedSoftMaxLayer)
};

class IAlgorithmIOInfo : public INoCopy {
  OCTET_TRT_HANDLE(VAlgorithmIOInfo)
 public:
  OCTET_TRT_ASK(DataType, getDataType, (), ())
  OCTET_TRT_ASK(Dims, getStrides, (), ())
};
class IAlgorithmVariant : public INoCopy {
  OCTET_TRT_HANDLE(VAlgorithmVariant)
 public:
  OCTET_TRT_ASK(int64_t, getImplementation, (), ())
  OCTET_TRT_ASK(int64_t, getTactic, (), ())
};
class IAlgorithmContext : public INoCopy {
  OCTET_TRT_HANDLE(VAlgorithmContext)
 public:
  OCTET_TRT_ASK(char const*, getName, (), ())
  OCTET_TRT_ASK(Dims, getDimensions, (int32_t index, OptProfileSelector select), (index, select))
  OCTET_TRT_ASK(int32_t, getNbInputs, (), ())
  OCTET_TRT_ASK(int32_t, getNbOutputs, (), ())
};
class IAlgorithm : public INoCopy {
  OCTET_TRT_HANDLE(VAlgorithm)
 public:
  OCTET_TRT_ASK(IAlgorithmVariant const&, getAlgorithmVariant, (), ())
  OCTET_TRT_ASK(float, getTimingMSec, (), ())
  OCTET_TRT_ASK(std::size_t, getWorkspaceSize, (), ())
  OCTET_TRT_ASK(IAlgorithmIOInfo const*, getAlgorithmIOInfoByIndex, (int32_t index), (index))
};
OCTET_TRT_V1_BEGIN
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
OCTET_TRT_V1_END

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
