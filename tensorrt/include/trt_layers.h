// SPDX-License-Identifier: Apache-2.0
// Tensors and layers of a network: what every layer has, and the layers with weights or windows. A layer keeps its properties itself; whoever
// asks the sizes of a tensor gets them inferred from what the layers say then.
#pragma once

#include "trt_layer_type.h"

namespace nvinfer1 {

class ITensor : public INoCopy {
 public:
  virtual void setName(char const* name) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual void setDimensions(Dims const& dimensions) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
  virtual void setType(DataType type) noexcept = 0;
  virtual DataType getType() const noexcept = 0;
  virtual bool setDynamicRange(float min, float max) noexcept = 0;
  virtual bool isNetworkInput() const noexcept = 0;
  virtual bool isNetworkOutput() const noexcept = 0;
  virtual void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept = 0;
  virtual bool getBroadcastAcrossBatch() const noexcept = 0;
  virtual TensorLocation getLocation() const noexcept = 0;
  virtual void setLocation(TensorLocation location) noexcept = 0;
  virtual bool dynamicRangeIsSet() const noexcept = 0;
  virtual void resetDynamicRange() noexcept = 0;
  virtual float getDynamicRangeMin() const noexcept = 0;
  virtual float getDynamicRangeMax() const noexcept = 0;
  virtual void setAllowedFormats(TensorFormats formats) noexcept = 0;
  virtual TensorFormats getAllowedFormats() const noexcept = 0;
  virtual bool isShapeTensor() const noexcept = 0;
  virtual bool isExecutionTensor() const noexcept = 0;
  virtual void setDimensionName(int32_t index, char const* name) noexcept = 0;
  virtual char const* getDimensionName(int32_t index) const noexcept = 0;

 protected:
  virtual ~ITensor() noexcept = default;
};

class ILayer : public INoCopy {
 public:
  virtual LayerType getType() const noexcept = 0;
  virtual void setName(char const* name) noexcept = 0;
  virtual char const* getName() const noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;
  virtual void setInput(int32_t index, ITensor& tensor) noexcept = 0;
  virtual void setPrecision(DataType dataType) noexcept = 0;
  virtual DataType getPrecision() const noexcept = 0;
  virtual bool precisionIsSet() const noexcept = 0;
  virtual void resetPrecision() noexcept = 0;
  virtual void setOutputType(int32_t index, DataType dataType) noexcept = 0;
  virtual DataType getOutputType(int32_t index) const noexcept = 0;
  virtual bool outputTypeIsSet(int32_t index) const noexcept = 0;
  virtual void resetOutputType(int32_t index) noexcept = 0;
  virtual void setMetadata(char const* metadata) noexcept = 0;
  virtual char const* getMetadata() const noexcept = 0;

 protected:
  virtual ~ILayer() noexcept = default;
  // A property changed: what was inferred of the layer holds no more.
  virtual void changed() noexcept = 0;
};

// A property with its setter and getter, kept by the layer.
#define OCTET_TRT_VALUE(Type, Name, initial)          \
 public:                                              \
  void set##Name(Type value) noexcept {               \
    m##Name = value;                                  \
    changed();                                        \
  }                                                   \
  Type get##Name() const noexcept { return m##Name; } \
                                                      \
 protected:                                           \
  Type m##Name = initial;

#define OCTET_TRT_DIMS(Name)                          \
 public:                                              \
  void set##Name(Dims const& value) noexcept {        \
    m##Name = value;                                  \
    changed();                                        \
  }                                                   \
  Dims get##Name() const noexcept { return m##Name; } \
                                                      \
 protected:                                           \
  Dims m##Name = Dims{0, {}};

// The two-dimensional form of a property with a form of any rank.
#define OCTET_TRT_HW(Name)                \
 public:                                  \
  void set##Name(DimsHW value) noexcept { \
    m##Name##Nd = value;                  \
    changed();                            \
  }                                       \
  DimsHW get##Name() const noexcept { return DimsHW(m##Name##Nd.d[0], m##Name##Nd.d[1]); }

#define OCTET_TRT_WEIGHTS(Name)                                   \
 public:                                                          \
  void set##Name##Weights(Weights value) noexcept {               \
    m##Name = value;                                              \
    changed();                                                    \
  }                                                               \
  Weights get##Name##Weights() const noexcept { return m##Name; } \
                                                                  \
 protected:                                                       \
  Weights m##Name = Weights{DataType::kFLOAT, nullptr, 0};

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
#define OCTET_TRT_WINDOW                                                       \
  OCTET_TRT_DIMS(PrePadding)                                                   \
  OCTET_TRT_DIMS(PostPadding)                                                  \
  OCTET_TRT_VALUE(PaddingMode, PaddingMode, PaddingMode::kEXPLICIT_ROUND_DOWN) \
  OCTET_TRT_DIMS(StrideNd)                                                     \
 public:                                                                       \
  void setPaddingNd(Dims const& padding) noexcept {                            \
    mPrePadding = padding;                                                     \
    mPostPadding = padding;                                                    \
    changed();                                                                 \
  }                                                                            \
  Dims getPaddingNd() const noexcept { return mPrePadding; }

#if NV_TENSORRT_MAJOR < 10
#define OCTET_TRT_WINDOW_HW                                           \
  OCTET_TRT_HW(Stride)                                                \
  void setPadding(DimsHW padding) noexcept { setPaddingNd(padding); } \
  DimsHW getPadding() const noexcept { return DimsHW(mPrePadding.d[0], mPrePadding.d[1]); }
#else
#define OCTET_TRT_WINDOW_HW
#endif

class IConvolutionLayer : public ILayer {
  OCTET_TRT_VALUE(OctetSize, NbOutputMaps, 0)
  OCTET_TRT_VALUE(OctetSize, NbGroups, 1)
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
  OCTET_TRT_VALUE(OctetSize, NbOutputMaps, 0)
  OCTET_TRT_VALUE(OctetSize, NbGroups, 1)
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
  OCTET_TRT_VALUE(int32_t, NbOutputChannels, 0)
  OCTET_TRT_WEIGHTS(Kernel)
  OCTET_TRT_WEIGHTS(Bias)
};
#endif

enum class PoolingType : int32_t { kMAX = 0, kAVERAGE = 1, kMAX_AVERAGE_BLEND = 2 };
OCTET_TRT_ENUM_MAX(PoolingType, 3)

class IPoolingLayer : public ILayer {
  OCTET_TRT_VALUE(PoolingType, PoolingType, PoolingType::kMAX)
  OCTET_TRT_VALUE(float, BlendFactor, 0)
  OCTET_TRT_VALUE(bool, AverageCountExcludesPadding, true)
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
  OCTET_TRT_VALUE(ActivationType, ActivationType, ActivationType::kRELU)
  OCTET_TRT_VALUE(float, Alpha, 0)
  OCTET_TRT_VALUE(float, Beta, 0)
};

class ILRNLayer : public ILayer {
  OCTET_TRT_VALUE(OctetSize, WindowSize, 0)
  OCTET_TRT_VALUE(float, Alpha, 0)
  OCTET_TRT_VALUE(float, Beta, 0)
  OCTET_TRT_VALUE(float, K, 0)
};

enum class ScaleMode : int32_t { kUNIFORM = 0, kCHANNEL = 1, kELEMENTWISE = 2 };
OCTET_TRT_ENUM_MAX(ScaleMode, 3)

class IScaleLayer : public ILayer {
  OCTET_TRT_VALUE(ScaleMode, Mode, ScaleMode::kUNIFORM)
  OCTET_TRT_VALUE(Weights, Shift, (Weights{DataType::kFLOAT, nullptr, 0}))
  OCTET_TRT_VALUE(Weights, Scale, (Weights{DataType::kFLOAT, nullptr, 0}))
  OCTET_TRT_VALUE(Weights, Power, (Weights{DataType::kFLOAT, nullptr, 0}))
  OCTET_TRT_VALUE(int32_t, ChannelAxis, 0)
};

class ISoftMaxLayer : public ILayer {
  OCTET_TRT_VALUE(uint32_t, Axes, 0)
};

class IConcatenationLayer : public ILayer {
  OCTET_TRT_VALUE(int32_t, Axis, 0)
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
  OCTET_TRT_VALUE(ElementWiseOperation, Operation, ElementWiseOperation::kSUM)
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
  OCTET_TRT_VALUE(UnaryOperation, Operation, UnaryOperation::kEXP)
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
  OCTET_TRT_VALUE(ReduceOperation, Operation, ReduceOperation::kSUM)
  OCTET_TRT_VALUE(uint32_t, ReduceAxes, 0)
  OCTET_TRT_VALUE(bool, KeepDimensions, false)
};

}  // namespace nvinfer1
