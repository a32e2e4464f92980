// SPDX-License-Identifier: Apache-2.0
// Layers that move, choose and compare elements, and those of loops and conditions.
#pragma once

#include "trt_layers.h"

namespace nvinfer1 {

class IPaddingLayer : public ILayer {
  OCTET_TRT_DIMS(PrePaddingNd)
  OCTET_TRT_DIMS(PostPaddingNd)
};

class IShuffleLayer : public ILayer {
  OCTET_TRT_VALUE(Permutation, FirstTranspose, (Permutation{{0, 1, 2, 3, 4, 5, 6, 7}}))
  OCTET_TRT_VALUE(Permutation, SecondTranspose, (Permutation{{0, 1, 2, 3, 4, 5, 6, 7}}))
  OCTET_TRT_VALUE(bool, ZeroIsPlaceholder, true)
 public:
  void setReshapeDimensions(Dims const& dimensions) noexcept {
    mReshape = dimensions;
    mReshapes = true;
    changed();
  }
  Dims getReshapeDimensions() const noexcept { return mReshape; }

 protected:
  Dims mReshape = Dims{-1, {}};
  bool mReshapes = false;
};

enum class SampleMode : int32_t {
  kSTRICT_BOUNDS = 0,
  kWRAP = 1,
  kCLAMP = 2,
  kFILL = 3,
  kREFLECT = 4,
#if NV_TENSORRT_MAJOR < 10
  kDEFAULT = kSTRICT_BOUNDS,
#endif
};
OCTET_TRT_ENUM_MAX(SampleMode, 5)
#if NV_TENSORRT_MAJOR < 10
using SliceMode = SampleMode;
#endif

class ISliceLayer : public ILayer {
  OCTET_TRT_DIMS(Start)
  OCTET_TRT_DIMS(Size)
  OCTET_TRT_DIMS(Stride)
  OCTET_TRT_DIMS(Axes)
  OCTET_TRT_VALUE(SampleMode, Mode, SampleMode::kSTRICT_BOUNDS)
};

class IShapeLayer : public ILayer {};

enum class TopKOperation : int32_t { kMAX = 0, kMIN = 1 };
OCTET_TRT_ENUM_MAX(TopKOperation, 2)

class ITopKLayer : public ILayer {
  OCTET_TRT_VALUE(TopKOperation, Operation, TopKOperation::kMAX)
  OCTET_TRT_VALUE(int32_t, K, 0)
  OCTET_TRT_VALUE(uint32_t, ReduceAxes, 0)
#if NV_TENSORRT_MAJOR >= 10
 public:
  bool setIndicesType(DataType type) noexcept {
    mIndicesType = type;
    changed();
    return type == DataType::kINT32 || type == DataType::kINT64;
  }
  DataType getIndicesType() const noexcept { return mIndicesType; }

 protected:
#endif
  DataType mIndicesType = DataType::kINT32;
};

enum class GatherMode : int32_t { kDEFAULT = 0, kELEMENT = 1, kND = 2 };
OCTET_TRT_ENUM_MAX(GatherMode, 3)

class IGatherLayer : public ILayer {
  OCTET_TRT_VALUE(int32_t, GatherAxis, 0)
  OCTET_TRT_VALUE(int32_t, NbElementWiseDims, 0)
  OCTET_TRT_VALUE(GatherMode, Mode, GatherMode::kDEFAULT)
};

enum class MatrixOperation : int32_t { kNONE = 0, kTRANSPOSE = 1, kVECTOR = 2 };
OCTET_TRT_ENUM_MAX(MatrixOperation, 3)

class IMatrixMultiplyLayer : public ILayer {
 public:
  void setOperation(int32_t index, MatrixOperation op) noexcept {
    if (index == 0 || index == 1) mOperation[index] = op;
    changed();
  }
  MatrixOperation getOperation(int32_t index) const noexcept { return mOperation[index == 1]; }

 protected:
  MatrixOperation mOperation[2] = {MatrixOperation::kNONE, MatrixOperation::kNONE};
};

class INonZeroLayer : public ILayer {};
class IIdentityLayer : public ILayer {};
class IParametricReLULayer : public ILayer {};
class ISelectLayer : public ILayer {};

class ICastLayer : public ILayer {
  OCTET_TRT_VALUE(DataType, ToType, DataType::kFLOAT)
};

class IConstantLayer : public ILayer {
  OCTET_TRT_VALUE(Weights, Weights, (Weights{DataType::kFLOAT, nullptr, 0}))
  OCTET_TRT_DIMS(Dimensions)
};

enum class InterpolationMode : int32_t { kNEAREST = 0, kLINEAR = 1, kCUBIC = 2 };
OCTET_TRT_ENUM_MAX(InterpolationMode, 3)
#if NV_TENSORRT_MAJOR < 10
using ResizeMode = InterpolationMode;
#endif
enum class ResizeCoordinateTransformation : int32_t {
  kALIGN_CORNERS = 0,
  kASYMMETRIC = 1,
  kHALF_PIXEL = 2,
};
OCTET_TRT_ENUM_MAX(ResizeCoordinateTransformation, 3)
enum class ResizeSelector : int32_t { kFORMULA = 0, kUPPER = 1 };
OCTET_TRT_ENUM_MAX(ResizeSelector, 2)
enum class ResizeRoundMode : int32_t { kHALF_UP = 0, kHALF_DOWN = 1, kFLOOR = 2, kCEIL = 3 };
OCTET_TRT_ENUM_MAX(ResizeRoundMode, 4)

class IResizeLayer : public ILayer {
  OCTET_TRT_DIMS(OutputDimensions)
  OCTET_TRT_VALUE(InterpolationMode, ResizeMode, InterpolationMode::kNEAREST)
  OCTET_TRT_VALUE(ResizeCoordinateTransformation, CoordinateTransformation,
                  ResizeCoordinateTransformation::kASYMMETRIC)
  OCTET_TRT_VALUE(ResizeSelector, SelectorForSinglePixel, ResizeSelector::kFORMULA)
  OCTET_TRT_VALUE(ResizeRoundMode, NearestRounding, ResizeRoundMode::kFLOOR)
  OCTET_TRT_VALUE(float, CubicCoeff, -0.75F)
  OCTET_TRT_VALUE(bool, ExcludeOutside, false)
 public:
  void setScales(float const* scales, int32_t nbScales) noexcept {
    mNbScales = nbScales < 0 ? 0 : nbScales > Dims::MAX_DIMS ? Dims::MAX_DIMS : nbScales;
    for (int32_t i = 0; i < mNbScales; ++i) mScales[i] = scales[i];
    changed();
  }
  int32_t getScales(int32_t size, float* scales) const noexcept {
    if (scales != nullptr && size == mNbScales)
      for (int32_t i = 0; i < mNbScales; ++i) scales[i] = mScales[i];
    return mNbScales > 0 ? mNbScales : -1;
  }
#if NV_TENSORRT_MAJOR < 10
  void setAlignCorners(bool alignCorners) noexcept {
    setCoordinateTransformation(alignCorners ? ResizeCoordinateTransformation::kALIGN_CORNERS
                                             : ResizeCoordinateTransformation::kASYMMETRIC);
  }
  bool getAlignCorners() const noexcept {
    return mCoordinateTransformation == ResizeCoordinateTransformation::kALIGN_CORNERS;
  }
#endif

 protected:
  float mScales[Dims::MAX_DIMS] = {};
  int32_t mNbScales = 0;
};

enum class FillOperation : int32_t { kLINSPACE = 0, kRANDOM_UNIFORM = 1, kRANDOM_NORMAL = 2 };
OCTET_TRT_ENUM_MAX(FillOperation, 3)

class IFillLayer : public ILayer {
  OCTET_TRT_DIMS(Dimensions)
  OCTET_TRT_VALUE(FillOperation, Operation, FillOperation::kLINSPACE)
  OCTET_TRT_VALUE(double, Alpha, 0)
  OCTET_TRT_VALUE(double, Beta, 1)
  OCTET_TRT_VALUE(DataType, ToType, DataType::kFLOAT)
#if NV_TENSORRT_MAJOR >= 10
 public:
  // The same as integers, which then count.
  void setAlphaInt64(int64_t alpha) noexcept {
    mAlphaInt64 = alpha;
    mIsInt64 = true;
    changed();
  }
  int64_t getAlphaInt64() const noexcept { return mAlphaInt64; }
  void setBetaInt64(int64_t beta) noexcept {
    mBetaInt64 = beta;
    mIsInt64 = true;
    changed();
  }
  int64_t getBetaInt64() const noexcept { return mBetaInt64; }
  bool isAlphaBetaInt64() const noexcept { return mIsInt64; }

 protected:
  int64_t mAlphaInt64 = 0;
  int64_t mBetaInt64 = 1;
  bool mIsInt64 = false;
#endif
};

class IQuantizeLayer : public ILayer {
  OCTET_TRT_VALUE(int32_t, Axis, -1)
  OCTET_TRT_VALUE(DataType, ToType, DataType::kINT8)
#if NV_TENSORRT_MAJOR >= 10
 public:
  // Sizes of the blocks that have a scale each; what is built has none.
  bool setBlockShape(Dims const& blockShape) noexcept {
    mBlockShape = blockShape;
    changed();
    return true;
  }
  Dims getBlockShape() const noexcept { return mBlockShape; }

 protected:
  Dims mBlockShape = Dims{0, {}};
#endif
};
class IDequantizeLayer : public ILayer {
  OCTET_TRT_VALUE(int32_t, Axis, -1)
  OCTET_TRT_VALUE(DataType, ToType, DataType::kFLOAT)
#if NV_TENSORRT_MAJOR >= 10
 public:
  // Sizes of the blocks that have a scale each; what is built has none.
  bool setBlockShape(Dims const& blockShape) noexcept {
    mBlockShape = blockShape;
    changed();
    return true;
  }
  Dims getBlockShape() const noexcept { return mBlockShape; }

 protected:
  Dims mBlockShape = Dims{0, {}};
#endif
};

class IEinsumLayer : public ILayer {
 public:
  virtual bool setEquation(char const* equation) noexcept = 0;
  virtual char const* getEquation() const noexcept = 0;
};

class IAssertionLayer : public ILayer {
 public:
  virtual void setMessage(char const* message) noexcept = 0;
  virtual char const* getMessage() const noexcept = 0;
};

enum class ScatterMode : int32_t { kELEMENT = 0, kND = 1 };
OCTET_TRT_ENUM_MAX(ScatterMode, 2)
class IScatterLayer : public ILayer {
  OCTET_TRT_VALUE(ScatterMode, Mode, ScatterMode::kELEMENT)
  OCTET_TRT_VALUE(int32_t, Axis, 0)
};

class IOneHotLayer : public ILayer {
  OCTET_TRT_VALUE(int32_t, Axis, -1)
};

class IGridSampleLayer : public ILayer {
  OCTET_TRT_VALUE(InterpolationMode, InterpolationMode, InterpolationMode::kLINEAR)
  OCTET_TRT_VALUE(bool, AlignCorners, false)
 public:
  bool setSampleMode(SampleMode mode) noexcept {
    mSampleMode = mode;
    changed();
    return true;
  }
  SampleMode getSampleMode() const noexcept { return mSampleMode; }

 protected:
  SampleMode mSampleMode = SampleMode::kFILL;
};

enum class BoundingBoxFormat : int32_t { kCORNER_PAIRS = 0, kCENTER_SIZES = 1 };
OCTET_TRT_ENUM_MAX(BoundingBoxFormat, 2)
class INMSLayer : public ILayer {
  OCTET_TRT_VALUE(BoundingBoxFormat, BoundingBoxFormat, BoundingBoxFormat::kCORNER_PAIRS)
  OCTET_TRT_VALUE(int32_t, TopKBoxLimit, 2000)
};

class IReverseSequenceLayer : public ILayer {
  OCTET_TRT_VALUE(int32_t, BatchAxis, 1)
  OCTET_TRT_VALUE(int32_t, SequenceAxis, 0)
};

class INormalizationLayer : public ILayer {
  OCTET_TRT_VALUE(float, Epsilon, 1e-5F)
  OCTET_TRT_VALUE(uint32_t, Axes, 0)
  OCTET_TRT_VALUE(OctetSize, NbGroups, 1)
  OCTET_TRT_VALUE(DataType, ComputePrecision, DataType::kFLOAT)
#if NV_TENSORRT_MAJOR >= 10
 public:
  virtual bool isV2() const noexcept { return false; }
#endif
};

#if NV_TENSORRT_MAJOR >= 10
class ISqueezeLayer : public ILayer {};
class IUnsqueezeLayer : public ILayer {};
class IRotaryEmbeddingLayer : public ILayer {
  OCTET_TRT_VALUE(bool, Interleaved, false)
 public:
  // Of how many numbers of a head pairs are turned; 0: of all. False for a number that is odd or negative.
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept {
    if (rotaryEmbeddingDim < 0 || rotaryEmbeddingDim % 2 != 0) return false;
    mRotaryEmbeddingDim = rotaryEmbeddingDim;
    changed();
    return true;
  }
  int32_t getRotaryEmbeddingDim() const noexcept { return mRotaryEmbeddingDim; }

 protected:
  int32_t mRotaryEmbeddingDim = 0;
};
enum class CumulativeOperation : int32_t { kSUM = 0 };
OCTET_TRT_ENUM_MAX(CumulativeOperation, 1)
class ICumulativeLayer : public ILayer {
 public:
  bool setOperation(CumulativeOperation op) noexcept {
    mOperation = op;
    changed();
    return true;
  }
  CumulativeOperation getOperation() const noexcept { return mOperation; }

 protected:
  CumulativeOperation mOperation = CumulativeOperation::kSUM;
  OCTET_TRT_VALUE(bool, Exclusive, false)
  OCTET_TRT_VALUE(bool, Reverse, false)
};
#endif

#undef OCTET_TRT_VALUE
#undef OCTET_TRT_DIMS
#undef OCTET_TRT_HW
#undef OCTET_TRT_WEIGHTS
#undef OCTET_TRT_WINDOW
#undef OCTET_TRT_WINDOW_HW

}  // namespace nvinfer1
