// SPDX-License-Identifier: Apache-2.0
// What layers keep: their properties, with the values that TensorRT gives them at first.
#pragma once

#include <algorithm>
#include <string>

#include "tensorrt/shared/handed.h"

namespace octet_trt {

// Its layers say so in the log where a property cannot be what it was to be.
template <class Layer>
class CheckedLayer : public HandedLayer<Layer> {
 protected:
  template <class T>
  bool takes(const char* property, const T& value) noexcept {
    const std::string wrong = wrong_value(value);
    if (!wrong.empty()) this->refused(property, wrong);
    return wrong.empty();
  }
};

template <class Layer>
class LayerData : public CheckedLayer<Layer> {};

#define OCTET_TRT_KEEP_AS(Type, Argument, Result, Name, initial)       \
 public:                                                               \
  void set##Name(Argument value) noexcept override {                   \
    if (!this->takes(#Name, value)) return;                            \
    kept##Name##_ = value;                                             \
    this->changed();                                                   \
  }                                                                    \
  Result get##Name() const noexcept override { return kept##Name##_; } \
                                                                       \
 protected:                                                            \
  Type kept##Name##_ = initial;
#define OCTET_TRT_KEEP(Type, Name, initial) OCTET_TRT_KEEP_AS(Type, Type, Type, Name, initial)
#define OCTET_TRT_KEEP_DIMS(Name) OCTET_TRT_KEEP_AS(Dims, Dims const&, Dims, Name, (Dims{0, {}}))
#define OCTET_TRT_KEEP_WEIGHTS(Name) \
  OCTET_TRT_KEEP(Weights, Name, (Weights{DataType::kFLOAT, nullptr, 0}))
// A property of later versions, whose setter says whether it took the value.
#define OCTET_TRT_KEEP_IF(Type, Argument, Name, initial, holds)        \
 public:                                                               \
  bool set##Name(Argument value) noexcept override {                   \
    if (!this->takes(#Name, value)) return false;                      \
    if (!(holds)) return this->refused(#Name, "no such value"), false; \
    kept##Name##_ = value;                                             \
    this->changed();                                                   \
    return true;                                                       \
  }                                                                    \
  Type get##Name() const noexcept override { return kept##Name##_; }   \
                                                                       \
 protected:                                                            \
  Type kept##Name##_ = initial;

// Kernel, strides, paddings: what convolutions of both directions and pooling share.
#define OCTET_TRT_KEEP_WINDOW                                                 \
  OCTET_TRT_KEEP_DIMS(PrePadding)                                             \
  OCTET_TRT_KEEP_DIMS(PostPadding)                                            \
  OCTET_TRT_KEEP(PaddingMode, PaddingMode, PaddingMode::kEXPLICIT_ROUND_DOWN) \
  OCTET_TRT_KEEP_DIMS(StrideNd)                                               \
 public:                                                                      \
  void setPaddingNd(Dims const& padding) noexcept override {                  \
    if (!this->takes("PaddingNd", padding)) return;                           \
    keptPrePadding_ = padding;                                                \
    keptPostPadding_ = padding;                                               \
    this->changed();                                                          \
  }                                                                           \
  Dims getPaddingNd() const noexcept override { return keptPrePadding_; }

#define OCTET_TRT_DATA(Layer) \
  template <>                 \
  class LayerData<Layer> : public CheckedLayer<Layer>

OCTET_TRT_DATA(IConvolutionLayer){
    OCTET_TRT_KEEP(OctetSize, NbOutputMaps, 0) OCTET_TRT_KEEP(OctetSize, NbGroups, 1)
        OCTET_TRT_KEEP_WEIGHTS(KernelWeights) OCTET_TRT_KEEP_WEIGHTS(BiasWeights)
            OCTET_TRT_KEEP_DIMS(KernelSizeNd) OCTET_TRT_KEEP_DIMS(DilationNd)
                OCTET_TRT_KEEP_WINDOW};

OCTET_TRT_DATA(IDeconvolutionLayer){
    OCTET_TRT_KEEP(OctetSize, NbOutputMaps, 0) OCTET_TRT_KEEP(OctetSize, NbGroups, 1)
        OCTET_TRT_KEEP_WEIGHTS(KernelWeights) OCTET_TRT_KEEP_WEIGHTS(BiasWeights)
            OCTET_TRT_KEEP_DIMS(KernelSizeNd) OCTET_TRT_KEEP_DIMS(DilationNd)
                OCTET_TRT_KEEP_WINDOW};

#if NV_TENSORRT_MAJOR < 10
OCTET_TRT_DATA(IFullyConnectedLayer){OCTET_TRT_KEEP(int32_t, NbOutputChannels, 0)
                                         OCTET_TRT_KEEP_WEIGHTS(KernelWeights)
                                             OCTET_TRT_KEEP_WEIGHTS(BiasWeights)};
#endif

OCTET_TRT_DATA(IPoolingLayer){OCTET_TRT_KEEP(PoolingType, PoolingType, PoolingType::kMAX)
                                  OCTET_TRT_KEEP(float, BlendFactor, 0)
                                      OCTET_TRT_KEEP(bool, AverageCountExcludesPadding, true)
                                          OCTET_TRT_KEEP_DIMS(WindowSizeNd) OCTET_TRT_KEEP_WINDOW};

OCTET_TRT_DATA(IActivationLayer){
    OCTET_TRT_KEEP(ActivationType, ActivationType, ActivationType::kRELU)
        OCTET_TRT_KEEP(float, Alpha, 0) OCTET_TRT_KEEP(float, Beta, 0)};

OCTET_TRT_DATA(ILRNLayer){OCTET_TRT_KEEP(OctetSize, WindowSize, 0) OCTET_TRT_KEEP(float, Alpha, 0)
                              OCTET_TRT_KEEP(float, Beta, 0) OCTET_TRT_KEEP(float, K, 0)};

OCTET_TRT_DATA(IScaleLayer){OCTET_TRT_KEEP(ScaleMode, Mode, ScaleMode::kUNIFORM)
                                OCTET_TRT_KEEP_WEIGHTS(Shift) OCTET_TRT_KEEP_WEIGHTS(Scale)
                                    OCTET_TRT_KEEP_WEIGHTS(Power)
                                        OCTET_TRT_KEEP(int32_t, ChannelAxis, 0)};

OCTET_TRT_DATA(ISoftMaxLayer){OCTET_TRT_KEEP(uint32_t, Axes, 0)};

OCTET_TRT_DATA(IConcatenationLayer){OCTET_TRT_KEEP(int32_t, Axis, 0)};

OCTET_TRT_DATA(IElementWiseLayer){
    OCTET_TRT_KEEP(ElementWiseOperation, Operation, ElementWiseOperation::kSUM)};

OCTET_TRT_DATA(IUnaryLayer){OCTET_TRT_KEEP(UnaryOperation, Operation, UnaryOperation::kEXP)};

OCTET_TRT_DATA(IReduceLayer){OCTET_TRT_KEEP(ReduceOperation, Operation, ReduceOperation::kSUM)
                                 OCTET_TRT_KEEP(uint32_t, ReduceAxes, 0)
                                     OCTET_TRT_KEEP(bool, KeepDimensions, false)};

OCTET_TRT_DATA(IPaddingLayer){OCTET_TRT_KEEP_DIMS(PrePaddingNd) OCTET_TRT_KEEP_DIMS(PostPaddingNd)};

#if NV_TENSORRT_MAJOR >= 10
#define OCTET_TRT_KEEP_PERMUTATION(Name)                                       \
  OCTET_TRT_KEEP_AS(Permutation, Permutation const&, Permutation const&, Name, \
                    (Permutation{{0, 1, 2, 3, 4, 5, 6, 7}}))
#define OCTET_TRT_KEEP_INDICES                                         \
  OCTET_TRT_KEEP_IF(DataType, DataType, IndicesType, DataType::kINT32, \
                    value == DataType::kINT32 || value == DataType::kINT64)
#else
#define OCTET_TRT_KEEP_PERMUTATION(Name) \
  OCTET_TRT_KEEP(Permutation, Name, (Permutation{{0, 1, 2, 3, 4, 5, 6, 7}}))
#define OCTET_TRT_KEEP_INDICES
#endif

OCTET_TRT_DATA(IShuffleLayer){
    OCTET_TRT_KEEP_PERMUTATION(FirstTranspose) OCTET_TRT_KEEP_PERMUTATION(SecondTranspose)
        OCTET_TRT_KEEP(bool, ZeroIsPlaceholder, true)
            OCTET_TRT_KEEP_AS(Dims, Dims const&, Dims, ReshapeDimensions, (Dims{-1, {}}))};

OCTET_TRT_DATA(ISliceLayer){OCTET_TRT_KEEP_DIMS(Start) OCTET_TRT_KEEP_DIMS(Size)
                                OCTET_TRT_KEEP_DIMS(Stride) OCTET_TRT_KEEP_DIMS(Axes)
                                    OCTET_TRT_KEEP(SampleMode, Mode, SampleMode::kSTRICT_BOUNDS)};

OCTET_TRT_DATA(ITopKLayer){OCTET_TRT_KEEP(TopKOperation, Operation, TopKOperation::kMAX)
                               OCTET_TRT_KEEP(int32_t, K, 0) OCTET_TRT_KEEP(uint32_t, ReduceAxes, 0)
                                   OCTET_TRT_KEEP_INDICES};

OCTET_TRT_DATA(IGatherLayer){OCTET_TRT_KEEP(int32_t, GatherAxis, 0)
                                 OCTET_TRT_KEEP(int32_t, NbElementWiseDims, 0)
                                     OCTET_TRT_KEEP(GatherMode, Mode, GatherMode::kDEFAULT)};

OCTET_TRT_DATA(IMatrixMultiplyLayer) {
 public:
  void setOperation(int32_t index, MatrixOperation op) noexcept override {
    if (index != 0 && index != 1) return refused("Operation", "there are two inputs, 0 and 1");
    if (!takes("Operation", op)) return;
    operations_[index] = op;
    changed();
  }
  MatrixOperation getOperation(int32_t index) const noexcept override {
    return operations_[index == 1];
  }

 private:
  MatrixOperation operations_[2] = {MatrixOperation::kNONE, MatrixOperation::kNONE};
};

#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_DATA(INonZeroLayer){OCTET_TRT_KEEP_INDICES};
#endif

OCTET_TRT_DATA(ICastLayer){OCTET_TRT_KEEP(DataType, ToType, DataType::kFLOAT)};

OCTET_TRT_DATA(IConstantLayer){OCTET_TRT_KEEP_WEIGHTS(Weights) OCTET_TRT_KEEP_DIMS(Dimensions)};

OCTET_TRT_DATA(IResizeLayer) {
  OCTET_TRT_KEEP_DIMS(OutputDimensions)
  OCTET_TRT_KEEP(InterpolationMode, ResizeMode, InterpolationMode::kNEAREST)
  OCTET_TRT_KEEP(ResizeCoordinateTransformation, CoordinateTransformation,
                 ResizeCoordinateTransformation::kASYMMETRIC)
  OCTET_TRT_KEEP(ResizeSelector, SelectorForSinglePixel, ResizeSelector::kFORMULA)
  OCTET_TRT_KEEP(ResizeRoundMode, NearestRounding, ResizeRoundMode::kFLOOR)
  OCTET_TRT_KEEP(float, CubicCoeff, -0.75F)
  OCTET_TRT_KEEP(bool, ExcludeOutside, false)
 public:
  void setScales(float const* scales, int32_t nbScales) noexcept override {
    if (scales == nullptr || nbScales < 0 || nbScales > Dims::MAX_DIMS)
      return refused("Scales", std::to_string(nbScales) + " scales, or a null pointer");
    count_ = nbScales;
    std::copy_n(scales, count_, scales_);
    changed();
  }
  int32_t getScales(int32_t size, float* scales) const noexcept override {
    if (scales != nullptr && size == count_) std::copy_n(scales_, count_, scales);
    return count_ > 0 ? count_ : -1;
  }

 private:
  float scales_[Dims::MAX_DIMS] = {};
  int32_t count_ = 0;
};

OCTET_TRT_DATA(IFillLayer) {
  OCTET_TRT_KEEP_DIMS(Dimensions)
  OCTET_TRT_KEEP(FillOperation, Operation, FillOperation::kLINSPACE)
  OCTET_TRT_KEEP(double, Alpha, 0)
  OCTET_TRT_KEEP(double, Beta, 1)
  OCTET_TRT_KEEP(DataType, ToType, DataType::kFLOAT)
#if NV_TENSORRT_MAJOR >= 10
 public:
  void setAlphaInt64(int64_t alpha) noexcept override {
    alpha_ = alpha;
    is_int64_ = true;
    changed();
  }
  int64_t getAlphaInt64() const noexcept override { return alpha_; }
  void setBetaInt64(int64_t beta) noexcept override {
    beta_ = beta;
    is_int64_ = true;
    changed();
  }
  int64_t getBetaInt64() const noexcept override { return beta_; }
  bool isAlphaBetaInt64() const noexcept override { return is_int64_; }

 private:
  int64_t alpha_ = 0;
  int64_t beta_ = 1;
  bool is_int64_ = false;
#endif
};

#if NV_TENSORRT_MAJOR >= 10
#define OCTET_TRT_KEEP_BLOCK OCTET_TRT_KEEP_IF(Dims, Dims const&, BlockShape, (Dims{0, {}}), true)
#else
#define OCTET_TRT_KEEP_BLOCK
#endif

OCTET_TRT_DATA(IQuantizeLayer){OCTET_TRT_KEEP(int32_t, Axis, -1)
                                   OCTET_TRT_KEEP(DataType, ToType, DataType::kINT8)
                                       OCTET_TRT_KEEP_BLOCK};

OCTET_TRT_DATA(IDequantizeLayer){OCTET_TRT_KEEP(int32_t, Axis, -1)
                                     OCTET_TRT_KEEP(DataType, ToType, DataType::kFLOAT)
                                         OCTET_TRT_KEEP_BLOCK};

OCTET_TRT_DATA(IEinsumLayer) {
 public:
  bool setEquation(char const* equation) noexcept override {
    if (equation == nullptr) return refused("Equation", "a null pointer"), false;
    equation_ = equation;
    changed();
    return true;
  }
  char const* getEquation() const noexcept override { return equation_.c_str(); }

 private:
  std::string equation_;
};

OCTET_TRT_DATA(IAssertionLayer) {
 public:
  void setMessage(char const* message) noexcept override {
    message_ = message == nullptr ? "" : message;
  }
  char const* getMessage() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

OCTET_TRT_DATA(IScatterLayer){OCTET_TRT_KEEP(ScatterMode, Mode, ScatterMode::kELEMENT)
                                  OCTET_TRT_KEEP(int32_t, Axis, 0)};

OCTET_TRT_DATA(IOneHotLayer){OCTET_TRT_KEEP(int32_t, Axis, -1)};

OCTET_TRT_DATA(IGridSampleLayer){
    OCTET_TRT_KEEP(InterpolationMode, InterpolationMode, InterpolationMode::kLINEAR)
        OCTET_TRT_KEEP(bool, AlignCorners, false)
            OCTET_TRT_KEEP_IF(SampleMode, SampleMode, SampleMode, SampleMode::kFILL, true)};

OCTET_TRT_DATA(INMSLayer){
    OCTET_TRT_KEEP(BoundingBoxFormat, BoundingBoxFormat, BoundingBoxFormat::kCORNER_PAIRS)
        OCTET_TRT_KEEP(int32_t, TopKBoxLimit, 2000) OCTET_TRT_KEEP_INDICES};

OCTET_TRT_DATA(ITripLimitLayer) {
 public:
  TripLimit getTripLimit() const noexcept override { return limit; }

  TripLimit limit = TripLimit::kCOUNT;
};

OCTET_TRT_DATA(IIteratorLayer){OCTET_TRT_KEEP(int32_t, Axis, 0)
                                   OCTET_TRT_KEEP(bool, Reverse, false)};

OCTET_TRT_DATA(ILoopOutputLayer) {
  OCTET_TRT_KEEP(int32_t, Axis, 0)
 public:
  LoopOutput getLoopOutput() const noexcept override { return output; }

  LoopOutput output = LoopOutput::kLAST_VALUE;
};

OCTET_TRT_DATA(IReverseSequenceLayer){OCTET_TRT_KEEP(int32_t, BatchAxis, 1)
                                          OCTET_TRT_KEEP(int32_t, SequenceAxis, 0)};

OCTET_TRT_DATA(INormalizationLayer) {
  OCTET_TRT_KEEP(float, Epsilon, 1e-5F)
  OCTET_TRT_KEEP(uint32_t, Axes, 0)
  OCTET_TRT_KEEP(OctetSize, NbGroups, 1)
  OCTET_TRT_KEEP(DataType, ComputePrecision, DataType::kFLOAT)
#if NV_TENSORRT_MAJOR >= 10
 public:
  bool isV2() const noexcept override { return false; }
#endif
};

#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_DATA(IRotaryEmbeddingLayer){
    OCTET_TRT_KEEP(bool, Interleaved, false)
        OCTET_TRT_KEEP_IF(int32_t, int32_t, RotaryEmbeddingDim, 0, value >= 0 && value % 2 == 0)};
#endif

#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_DATA(ICumulativeLayer){OCTET_TRT_KEEP_IF(CumulativeOperation, CumulativeOperation,
                                                   Operation, CumulativeOperation::kSUM, true)
                                     OCTET_TRT_KEEP(bool, Exclusive, false)
                                         OCTET_TRT_KEEP(bool, Reverse, false)};
#endif

}  // namespace octet_trt
