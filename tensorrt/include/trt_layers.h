// SPDX-License-Identifier: Apache-2.0
// Tensors and layers of a network: what every layer has, and the layers with weights or windows. Whoever asks the sizes of a tensor gets them
// inferred from what the layers say then.
#pragma once

#include "trt_layer_type.h"

namespace nvinfer1 {

class ITensor : public INoCopy {
  OCTET_TRT_HANDLE(VTensor)
 public:
  OCTET_TRT_CALL(void, setName, (char const* name), (name))
  OCTET_TRT_ASK(char const*, getName, (), ())
  OCTET_TRT_CALL(void, setDimensions, (Dims const& dimensions), (dimensions))
  OCTET_TRT_ASK(Dims, getDimensions, (), ())
  OCTET_TRT_CALL(void, setType, (DataType type), (type))
  OCTET_TRT_ASK(DataType, getType, (), ())
  OCTET_TRT_CALL(bool, setDynamicRange, (float min, float max), (min, max))
  OCTET_TRT_ASK(bool, isNetworkInput, (), ())
  OCTET_TRT_ASK(bool, isNetworkOutput, (), ())
  OCTET_TRT_CALL(void, setBroadcastAcrossBatch, (bool broadcastAcrossBatch), (broadcastAcrossBatch))
  OCTET_TRT_ASK(bool, getBroadcastAcrossBatch, (), ())
  OCTET_TRT_ASK(TensorLocation, getLocation, (), ())
  OCTET_TRT_CALL(void, setLocation, (TensorLocation location), (location))
  OCTET_TRT_ASK(bool, dynamicRangeIsSet, (), ())
  OCTET_TRT_CALL(void, resetDynamicRange, (), ())
  OCTET_TRT_ASK(float, getDynamicRangeMin, (), ())
  OCTET_TRT_ASK(float, getDynamicRangeMax, (), ())
  OCTET_TRT_CALL(void, setAllowedFormats, (TensorFormats formats), (formats))
  OCTET_TRT_ASK(TensorFormats, getAllowedFormats, (), ())
  OCTET_TRT_ASK(bool, isShapeTensor, (), ())
  OCTET_TRT_ASK(bool, isExecutionTensor, (), ())
  OCTET_TRT_CALL(void, setDimensionName, (int32_t index, char const* name), (index, name))
  OCTET_TRT_ASK(char const*, getDimensionName, (int32_t index), (index))

 protected:
  virtual ~ITensor() noexcept = default;
};

class ILayer : public INoCopy {
  OCTET_TRT_HANDLE_ON(VLayer, mLayer)
 public:
  OCTET_TRT_ASK_ON(mLayer, LayerType, getType, (), ())
  OCTET_TRT_CALL_ON(mLayer, void, setName, (char const* name), (name))
  OCTET_TRT_ASK_ON(mLayer, char const*, getName, (), ())
  OCTET_TRT_ASK_ON(mLayer, int32_t, getNbInputs, (), ())
  OCTET_TRT_ASK_ON(mLayer, ITensor*, getInput, (int32_t index), (index))
  OCTET_TRT_ASK_ON(mLayer, int32_t, getNbOutputs, (), ())
  OCTET_TRT_ASK_ON(mLayer, ITensor*, getOutput, (int32_t index), (index))
  OCTET_TRT_CALL_ON(mLayer, void, setInput, (int32_t index, ITensor& tensor), (index, tensor))
  OCTET_TRT_CALL_ON(mLayer, void, setPrecision, (DataType dataType), (dataType))
  OCTET_TRT_ASK_ON(mLayer, DataType, getPrecision, (), ())
  OCTET_TRT_ASK_ON(mLayer, bool, precisionIsSet, (), ())
  OCTET_TRT_CALL_ON(mLayer, void, resetPrecision, (), ())
  OCTET_TRT_CALL_ON(mLayer, void, setOutputType, (int32_t index, DataType dataType),
                    (index, dataType))
  OCTET_TRT_ASK_ON(mLayer, DataType, getOutputType, (int32_t index), (index))
  OCTET_TRT_ASK_ON(mLayer, bool, outputTypeIsSet, (int32_t index), (index))
  OCTET_TRT_CALL_ON(mLayer, void, resetOutputType, (int32_t index), (index))
  OCTET_TRT_CALL_ON(mLayer, void, setMetadata, (char const* metadata), (metadata))
  OCTET_TRT_ASK_ON(mLayer, char const*, getMetadata, (), ())

#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL_ON(mLayer, bool, setNbRanks, (int32_t nbRanks), (nbRanks))
  OCTET_TRT_ASK_ON(mLayer, int32_t, getNbRanks, (), ())
#endif

 protected:
  virtual ~ILayer() noexcept = default;
};

// A property: its setter and its getter.
#define OCTET_TRT_VALUE(Type, Name)                      \
 public:                                                 \
  OCTET_TRT_CALL(void, set##Name, (Type value), (value)) \
  OCTET_TRT_ASK(Type, get##Name, (), ())
#define OCTET_TRT_DIMS(Name)                                    \
 public:                                                        \
  OCTET_TRT_CALL(void, set##Name, (Dims const& value), (value)) \
  OCTET_TRT_ASK(Dims, get##Name, (), ())
#define OCTET_TRT_WEIGHTS(Name) OCTET_TRT_VALUE(Weights, Name##Weights)

// The two-dimensional form of a property with a form of any rank.
#define OCTET_TRT_HW(Name)                                        \
 public:                                                          \
  void set##Name(DimsHW value) noexcept { set##Name##Nd(value); } \
  DimsHW get##Name() const noexcept {                             \
    Dims const sizes = get##Name##Nd();                           \
    return DimsHW(sizes.d[0], sizes.d[1]);                        \
  }

enum class PaddingMode : int32_t {
  kEXPLICIT_ROUND_DOWN = 0,
  kEXPLICIT_ROUND_UP = 1,
  kSAME_UPPER = 2,
  kSAME_LOWER = 3,
#if NV_TENSORRT_MAJOR < 10
  kCAFFE_ROUND_DOWN = 4,
  kCAFFE_ROUND_UP = 5,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(PaddingMode, 4)
#else
OCTET_TRT_ENUM_MAX(PaddingMode, 6)
#endif

// Kernel, strides, paddings: what convolutions of both directions and pooling share.
#define OCTET_TRT_WINDOW                    \
  OCTET_TRT_DIMS(PrePadding)                \
  OCTET_TRT_DIMS(PostPadding)               \
  OCTET_TRT_VALUE(PaddingMode, PaddingMode) \
  OCTET_TRT_DIMS(StrideNd)                  \
  OCTET_TRT_DIMS(PaddingNd)

#if NV_TENSORRT_MAJOR < 10
#define OCTET_TRT_WINDOW_HW \
  OCTET_TRT_HW(Stride)      \
  OCTET_TRT_HW(Padding)
#else
#define OCTET_TRT_WINDOW_HW
#endif

class IConvolutionLayer : public ILayer {
  OCTET_TRT_HANDLE(VConvolutionLayer)
  OCTET_TRT_VALUE(OctetSize, NbOutputMaps)
  OCTET_TRT_VALUE(OctetSize, NbGroups)
  OCTET_TRT_WEIGHTS(Kernel)
  OCTET_TRT_WEIGHTS(Bias)
  OCTET_TRT_DIMS(KernelSizeNd)
  OCTET_TRT_DIMS(DilationNd)
  OCTET_TRT_WINDOW
#if NV_TENSORRT_MAJOR < 10
  OCTET_TRT_HW(KernelSize)
  OCTET_TRT_HW(Dilation)
#endif
  OCTET_TRT_WINDOW_HW
};

class IDeconvolutionLayer : public ILayer {
  OCTET_TRT_HANDLE(VDeconvolutionLayer)
  OCTET_TRT_VALUE(OctetSize, NbOutputMaps)
  OCTET_TRT_VALUE(OctetSize, NbGroups)
  OCTET_TRT_WEIGHTS(Kernel)
  OCTET_TRT_WEIGHTS(Bias)
  OCTET_TRT_DIMS(KernelSizeNd)
  OCTET_TRT_DIMS(DilationNd)
  OCTET_TRT_WINDOW
#if NV_TENSORRT_MAJOR < 10
  OCTET_TRT_HW(KernelSize)
#endif
  OCTET_TRT_WINDOW_HW
};

#if NV_TENSORRT_MAJOR < 10
class IFullyConnectedLayer : public ILayer {
  OCTET_TRT_VALUE(int32_t, NbOutputChannels)
  OCTET_TRT_WEIGHTS(Kernel)
  OCTET_TRT_WEIGHTS(Bias)
};
#endif

enum class PoolingType : int32_t { kMAX = 0, kAVERAGE = 1, kMAX_AVERAGE_BLEND = 2 };
OCTET_TRT_ENUM_MAX(PoolingType, 3)

class IPoolingLayer : public ILayer {
  OCTET_TRT_HANDLE(VPoolingLayer)
  OCTET_TRT_VALUE(PoolingType, PoolingType)
  OCTET_TRT_VALUE(float, BlendFactor)
  OCTET_TRT_VALUE(bool, AverageCountExcludesPadding)
  OCTET_TRT_DIMS(WindowSizeNd)
  OCTET_TRT_WINDOW
#if NV_TENSORRT_MAJOR < 10
  OCTET_TRT_HW(WindowSize)
#endif
  OCTET_TRT_WINDOW_HW
};

enum class ActivationType : int32_t {
  kRELU = 0,
  kSIGMOID = 1,
  kTANH = 2,
  kLEAKY_RELU = 3,
  kELU = 4,
  kSELU = 5,
  kSOFTSIGN = 6,
  kSOFTPLUS = 7,
  kCLIP = 8,
  kHARD_SIGMOID = 9,
  kSCALED_TANH = 10,
  kTHRESHOLDED_RELU = 11,
#if NV_TENSORRT_MAJOR >= 10
  kGELU_ERF = 12,
  kGELU_TANH = 13,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(ActivationType, 14)
#else
OCTET_TRT_ENUM_MAX(ActivationType, 12)
#endif

class IActivationLayer : public ILayer {
  OCTET_TRT_HANDLE(VActivationLayer)
  OCTET_TRT_VALUE(ActivationType, ActivationType)
  OCTET_TRT_VALUE(float, Alpha)
  OCTET_TRT_VALUE(float, Beta)
};

class ILRNLayer : public ILayer {
  OCTET_TRT_HANDLE(VLRNLayer)
  OCTET_TRT_VALUE(OctetSize, WindowSize)
  OCTET_TRT_VALUE(float, Alpha)
  OCTET_TRT_VALUE(float, Beta)
  OCTET_TRT_VALUE(float, K)
};

enum class ScaleMode : int32_t { kUNIFORM = 0, kCHANNEL = 1, kELEMENTWISE = 2 };
OCTET_TRT_ENUM_MAX(ScaleMode, 3)

class IScaleLayer : public ILayer {
  OCTET_TRT_HANDLE(VScaleLayer)
  OCTET_TRT_VALUE(ScaleMode, Mode)
  OCTET_TRT_VALUE(Weights, Shift)
  OCTET_TRT_VALUE(Weights, Scale)
  OCTET_TRT_VALUE(Weights, Power)
  OCTET_TRT_VALUE(int32_t, ChannelAxis)
};

class ISoftMaxLayer : public ILayer {
  OCTET_TRT_HANDLE(VSoftMaxLayer)
  OCTET_TRT_VALUE(uint32_t, Axes)
};

class IConcatenationLayer : public ILayer {
  OCTET_TRT_HANDLE(VConcatenationLayer)
  OCTET_TRT_VALUE(int32_t, Axis)
};

enum class ElementWiseOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kDIV = 5,
  kPOW = 6,
  kFLOOR_DIV = 7,
  kAND = 8,
  kOR = 9,
  kXOR = 10,
  kEQUAL = 11,
  kGREATER = 12,
  kLESS = 13,
};
OCTET_TRT_ENUM_MAX(ElementWiseOperation, 14)

class IElementWiseLayer : public ILayer {
  OCTET_TRT_HANDLE(VElementWiseLayer)
  OCTET_TRT_VALUE(ElementWiseOperation, Operation)
};

enum class UnaryOperation : int32_t {
  kEXP = 0,
  kLOG = 1,
  kSQRT = 2,
  kRECIP = 3,
  kABS = 4,
  kNEG = 5,
  kSIN = 6,
  kCOS = 7,
  kTAN = 8,
  kSINH = 9,
  kCOSH = 10,
  kASIN = 11,
  kACOS = 12,
  kATAN = 13,
  kASINH = 14,
  kACOSH = 15,
  kATANH = 16,
  kCEIL = 17,
  kFLOOR = 18,
  kERF = 19,
  kNOT = 20,
  kSIGN = 21,
  kROUND = 22,
  kISINF = 23,
#if NV_TENSORRT_MAJOR >= 10
  kISNAN = 24,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(UnaryOperation, 25)
#else
OCTET_TRT_ENUM_MAX(UnaryOperation, 24)
#endif

class IUnaryLayer : public ILayer {
  OCTET_TRT_HANDLE(VUnaryLayer)
  OCTET_TRT_VALUE(UnaryOperation, Operation)
};

enum class ReduceOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kAVG = 4,
  kNONE = 5
};
OCTET_TRT_ENUM_MAX(ReduceOperation, 6)

class IReduceLayer : public ILayer {
  OCTET_TRT_HANDLE(VReduceLayer)
  OCTET_TRT_VALUE(ReduceOperation, Operation)
  OCTET_TRT_VALUE(uint32_t, ReduceAxes)
  OCTET_TRT_VALUE(bool, KeepDimensions)
};

}  // namespace nvinfer1
