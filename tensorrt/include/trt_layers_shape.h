// SPDX-License-Identifier: Apache-2.0
// Layers that move, choose and compare elements, and those of loops and conditions.
#pragma once

#include "trt_layers.h"

namespace nvinfer1 {

class IPaddingLayer : public ILayer {
  OCTET_TRT_HANDLE(VPaddingLayer)
  OCTET_TRT_DIMS(PrePaddingNd)
  OCTET_TRT_DIMS(PostPaddingNd)
};

class IShuffleLayer : public ILayer {
  OCTET_TRT_HANDLE(VShuffleLayer)
  OCTET_TRT_VALUE(Permutation, FirstTranspose)
  OCTET_TRT_VALUE(Permutation, SecondTranspose)
  OCTET_TRT_VALUE(bool, ZeroIsPlaceholder)
  OCTET_TRT_DIMS(ReshapeDimensions)
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
  OCTET_TRT_HANDLE(VSliceLayer)
  OCTET_TRT_DIMS(Start)
  OCTET_TRT_DIMS(Size)
  OCTET_TRT_DIMS(Stride)
  OCTET_TRT_DIMS(Axes)
  OCTET_TRT_VALUE(SampleMode, Mode)
};

class IShapeLayer : public ILayer {
  OCTET_TRT_HANDLE(VShapeLayer)
};

enum class TopKOperation : int32_t { kMAX = 0, kMIN = 1 };
OCTET_TRT_ENUM_MAX(TopKOperation, 2)

class ITopKLayer : public ILayer {
  OCTET_TRT_HANDLE(VTopKLayer)
  OCTET_TRT_VALUE(TopKOperation, Operation)
  OCTET_TRT_VALUE(int32_t, K)
  OCTET_TRT_VALUE(uint32_t, ReduceAxes)
#if NV_TENSORRT_MAJOR >= 10
 public:
  OCTET_TRT_CALL(bool, setIndicesType, (DataType type), (type))
  OCTET_TRT_ASK(DataType, getIndicesType, (), ())
#endif
};

enum class GatherMode : int32_t { kDEFAULT = 0, kELEMENT = 1, kND = 2 };
OCTET_TRT_ENUM_MAX(GatherMode, 3)

class IGatherLayer : public ILayer {
  OCTET_TRT_HANDLE(VGatherLayer)
  OCTET_TRT_VALUE(int32_t, GatherAxis)
  OCTET_TRT_VALUE(int32_t, NbElementWiseDims)
  OCTET_TRT_VALUE(GatherMode, Mode)
};

enum class MatrixOperation : int32_t { kNONE = 0, kTRANSPOSE = 1, kVECTOR = 2 };
OCTET_TRT_ENUM_MAX(MatrixOperation, 3)

class IMatrixMultiplyLayer : public ILayer {
  OCTET_TRT_HANDLE(VMatrixMultiplyLayer)
 public:
  OCTET_TRT_CALL(void, setOperation, (int32_t index, MatrixOperation op), (index, op))
  OCTET_TRT_ASK(MatrixOperation, getOperation, (int32_t index), (index))
};

class INonZeroLayer : public ILayer {
  OCTET_TRT_HANDLE(VNonZeroLayer)
#if NV_TENSORRT_MAJOR >= 10
 public:
  OCTET_TRT_CALL(bool, setIndicesType, (DataType type), (type))
  OCTET_TRT_ASK(DataType, getIndicesType, (), ())
#endif
};
class IIdentityLayer : public ILayer {
  OCTET_TRT_HANDLE(VIdentityLayer)
};
class IParametricReLULayer : public ILayer {
  OCTET_TRT_HANDLE(VParametricReLULayer)
};
class ISelectLayer : public ILayer {
  OCTET_TRT_HANDLE(VSelectLayer)
};

class ICastLayer : public ILayer {
  OCTET_TRT_HANDLE(VCastLayer)
  OCTET_TRT_VALUE(DataType, ToType)
};

class IConstantLayer : public ILayer {
  OCTET_TRT_HANDLE(VConstantLayer)
  OCTET_TRT_VALUE(Weights, Weights)
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
  OCTET_TRT_HANDLE(VResizeLayer)
  OCTET_TRT_DIMS(OutputDimensions)
  OCTET_TRT_VALUE(InterpolationMode, ResizeMode)
  OCTET_TRT_VALUE(ResizeCoordinateTransformation, CoordinateTransformation)
  OCTET_TRT_VALUE(ResizeSelector, SelectorForSinglePixel)
  OCTET_TRT_VALUE(ResizeRoundMode, NearestRounding)
  OCTET_TRT_VALUE(float, CubicCoeff)
  OCTET_TRT_VALUE(bool, ExcludeOutside)
 public:
  OCTET_TRT_CALL(void, setScales, (float const* scales, int32_t nbScales), (scales, nbScales))
  OCTET_TRT_ASK(int32_t, getScales, (int32_t size, float* scales), (size, scales))
#if NV_TENSORRT_MAJOR < 10
  void setAlignCorners(bool alignCorners) noexcept {
    setCoordinateTransformation(alignCorners ? ResizeCoordinateTransformation::kALIGN_CORNERS
                                             : ResizeCoordinateTransformation::kASYMMETRIC);
  }
  bool getAlignCorners() const noexcept {
    return getCoordinateTransformation() == ResizeCoordinateTransformation::kALIGN_CORNERS;
  }
#endif
};

enum class FillOperation : int32_t { kLINSPACE = 0, kRANDOM_UNIFORM = 1, kRANDOM_NORMAL = 2 };
OCTET_TRT_ENUM_MAX(FillOperation, 3)

class IFillLayer : public ILayer {
  OCTET_TRT_HANDLE(VFillLayer)
  OCTET_TRT_DIMS(Dimensions)
  OCTET_TRT_VALUE(FillOperation, Operation)
  OCTET_TRT_VALUE(double, Alpha)
  OCTET_TRT_VALUE(double, Beta)
  OCTET_TRT_VALUE(DataType, ToType)
#if NV_TENSORRT_MAJOR >= 10
  // The same as integers, which then count.
  OCTET_TRT_VALUE(int64_t, AlphaInt64)
  OCTET_TRT_VALUE(int64_t, BetaInt64)
  OCTET_TRT_ASK(bool, isAlphaBetaInt64, (), ())
#endif
};

class IQuantizeLayer : public ILayer {
  OCTET_TRT_HANDLE(VQuantizeLayer)
  OCTET_TRT_VALUE(int32_t, Axis)
  OCTET_TRT_VALUE(DataType, ToType)
#if NV_TENSORRT_MAJOR >= 10
  // Sizes of the blocks that have a scale each; what is built has none.
  OCTET_TRT_CALL(bool, setBlockShape, (Dims const& blockShape), (blockShape))
  OCTET_TRT_ASK(Dims, getBlockShape, (), ())
#endif
};
class IDequantizeLayer : public ILayer {
  OCTET_TRT_HANDLE(VDequantizeLayer)
  OCTET_TRT_VALUE(int32_t, Axis)
  OCTET_TRT_VALUE(DataType, ToType)
#if NV_TENSORRT_MAJOR >= 10
  // Sizes of the blocks that have a scale each; what is built has none.
  OCTET_TRT_CALL(bool, setBlockShape, (Dims const& blockShape), (blockShape))
  OCTET_TRT_ASK(Dims, getBlockShape, (), ())
#endif
};

class IEinsumLayer : public ILayer {
  OCTET_TRT_HANDLE(VEinsumLayer)
 public:
  OCTET_TRT_CALL(bool, setEquation, (char const* equation), (equation))
  OCTET_TRT_ASK(char const*, getEquation, (), ())
};

class IAssertionLayer : public ILayer {
  OCTET_TRT_HANDLE(VAssertionLayer)
 public:
  OCTET_TRT_CALL(void, setMessage, (char const* message), (message))
  OCTET_TRT_ASK(char const*, getMessage, (), ())
};

enum class ScatterMode : int32_t { kELEMENT = 0, kND = 1 };
OCTET_TRT_ENUM_MAX(ScatterMode, 2)
class IScatterLayer : public ILayer {
  OCTET_TRT_HANDLE(VScatterLayer)
  OCTET_TRT_VALUE(ScatterMode, Mode)
  OCTET_TRT_VALUE(int32_t, Axis)
};

class IOneHotLayer : public ILayer {
  OCTET_TRT_HANDLE(VOneHotLayer)
  OCTET_TRT_VALUE(int32_t, Axis)
};

class IGridSampleLayer : public ILayer {
  OCTET_TRT_HANDLE(VGridSampleLayer)
  OCTET_TRT_VALUE(InterpolationMode, InterpolationMode)
  OCTET_TRT_VALUE(bool, AlignCorners)
 public:
  OCTET_TRT_CALL(bool, setSampleMode, (SampleMode mode), (mode))
  OCTET_TRT_ASK(SampleMode, getSampleMode, (), ())
};

enum class BoundingBoxFormat : int32_t { kCORNER_PAIRS = 0, kCENTER_SIZES = 1 };
OCTET_TRT_ENUM_MAX(BoundingBoxFormat, 2)
class INMSLayer : public ILayer {
  OCTET_TRT_HANDLE(VNMSLayer)
  OCTET_TRT_VALUE(BoundingBoxFormat, BoundingBoxFormat)
  OCTET_TRT_VALUE(int32_t, TopKBoxLimit)
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_CALL(bool, setIndicesType, (DataType type), (type))
  OCTET_TRT_ASK(DataType, getIndicesType, (), ())
#endif
};

class IReverseSequenceLayer : public ILayer {
  OCTET_TRT_HANDLE(VReverseSequenceLayer)
  OCTET_TRT_VALUE(int32_t, BatchAxis)
  OCTET_TRT_VALUE(int32_t, SequenceAxis)
};

class INormalizationLayer : public ILayer {
  OCTET_TRT_HANDLE(VNormalizationLayer)
  OCTET_TRT_VALUE(float, Epsilon)
  OCTET_TRT_VALUE(uint32_t, Axes)
  OCTET_TRT_VALUE(OctetSize, NbGroups)
  OCTET_TRT_VALUE(DataType, ComputePrecision)
#if NV_TENSORRT_MAJOR >= 10
  OCTET_TRT_ASK(bool, isV2, (), ())
#endif
};

#if NV_TENSORRT_MAJOR >= 10
class ISqueezeLayer : public ILayer {
  OCTET_TRT_HANDLE(VSqueezeLayer)
};
class IUnsqueezeLayer : public ILayer {
  OCTET_TRT_HANDLE(VUnsqueezeLayer)
};
class IRotaryEmbeddingLayer : public ILayer {
  OCTET_TRT_HANDLE(VRotaryEmbeddingLayer)
  OCTET_TRT_VALUE(bool, Interleaved)
 public:
  // Of how many numbers of a head pairs are turned; 0: of all. False for a number that is odd or negative.
  OCTET_TRT_CALL(bool, setRotaryEmbeddingDim, (int32_t rotaryEmbeddingDim), (rotaryEmbeddingDim))
  OCTET_TRT_ASK(int32_t, getRotaryEmbeddingDim, (), ())
};
enum class CumulativeOperation : int32_t { kSUM = 0 };
OCTET_TRT_ENUM_MAX(CumulativeOperation, 1)
class ICumulativeLayer : public ILayer {
  OCTET_TRT_HANDLE(VCumulativeLayer)
 public:
  OCTET_TRT_CALL(bool, setOperation, (CumulativeOperation op), (op))
  OCTET_TRT_ASK(CumulativeOperation, getOperation, (), ())
  OCTET_TRT_VALUE(bool, Exclusive)
  OCTET_TRT_VALUE(bool, Reverse)
};
#endif

#undef OCTET_TRT_VALUE
#undef OCTET_TRT_DIMS
#undef OCTET_TRT_HW
#undef OCTET_TRT_WEIGHTS
#undef OCTET_TRT_WINDOW
#undef OCTET_TRT_WINDOW_HW

}  // namespace nvinfer1
