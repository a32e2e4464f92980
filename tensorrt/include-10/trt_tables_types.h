// SPDX-License-Identifier: Apache-2.0
// Names that the tables of level 10 (trt_tables_*.h) speak of. A table is the order of the functions behind a handle, which is TensorRT 10.16's:
// programs that were compiled with its headers call them by place. Nothing is moved in a table and nothing taken out; what a later version
// has stands behind the rest. tests/abi_slots.def says each place.
#pragma once

#include "../include/trt_base.h"

namespace nvinfer1 {

enum class ActivationType : int32_t;
enum class AttentionNormalizationOp : int32_t;
enum class BoundingBoxFormat : int32_t;
enum class BuilderFlag : int32_t;
enum class CumulativeOperation : int32_t;
enum class DimensionOperation : int32_t;
enum class ElementWiseOperation : int32_t;
enum class ExecutionContextAllocationStrategy : int32_t;
enum class FillOperation : int32_t;
enum class GatherMode : int32_t;
enum class HardwareCompatibilityLevel : int32_t;
enum class InterpolationMode : int32_t;
enum class KVCacheMode : int32_t;
enum class LayerType : int32_t;
enum class LoopOutput : int32_t;
enum class MatrixOperation : int32_t;
enum class MemoryPoolType : int32_t;
enum class MoEActType : int32_t;
enum class NetworkDefinitionCreationFlag : int32_t;
enum class PaddingMode : int32_t;
enum class PoolingType : int32_t;
enum class PreviewFeature : int32_t;
enum class QuantizationFlag : int32_t;
enum class ReduceOperation : int32_t;
enum class ResizeCoordinateTransformation : int32_t;
enum class ResizeRoundMode : int32_t;
enum class ResizeSelector : int32_t;
enum class RuntimePlatform : int32_t;
enum class SampleMode : int32_t;
enum class ScaleMode : int32_t;
enum class ScatterMode : int32_t;
enum class SerializationFlag : int32_t;
enum class TilingOptimizationLevel : int32_t;
enum class TopKOperation : int32_t;
enum class TripLimit : int32_t;
enum class UnaryOperation : int32_t;
enum class WeightsRole : int32_t;
enum class CollectiveOperation : int32_t;
enum class EngineStat : int32_t;

class IActivationLayer;
class IAlgorithmIOInfo;
class IAlgorithmVariant;
class IAssertionLayer;
class IAttention;
class IBuilder;
class IBuilderConfig;
class ICastLayer;
class IConcatenationLayer;
class IConditionLayer;
class IConstantLayer;
class IConvolutionLayer;
class ICudaEngine;
class ICumulativeLayer;
class IDeconvolutionLayer;
class IDequantizeLayer;
class IDimensionExpr;
class IDistCollectiveLayer;
class IDynamicQuantizeLayer;
class IEinsumLayer;
class IElementWiseLayer;
class IEngineInspector;
class IExecutionContext;
class IFillLayer;
class IGatherLayer;
class IGridSampleLayer;
class IHostMemory;
class IIdentityLayer;
class IIfConditional;
class IIfConditionalInputLayer;
class IIfConditionalOutputLayer;
class IInt8Calibrator;
class IIteratorLayer;
class IKVCacheUpdateLayer;
class ILRNLayer;
class ILayer;
class ILogger;
class ILoop;
class ILoopOutputLayer;
class IMatrixMultiplyLayer;
class IMoELayer;
class INMSLayer;
class INetworkDefinition;
class INonZeroLayer;
class INormalizationLayer;
class IOneHotLayer;
class IOptimizationProfile;
class IPaddingLayer;
class IParametricReLULayer;
class IPluginRegistry;
class IPluginV2;
class IPluginV2Layer;
class IPluginV3Layer;
class IPoolingLayer;
class IQuantizeLayer;
class IRaggedSoftMaxLayer;
class IRecurrenceLayer;
class IReduceLayer;
class IRefitter;
class IResizeLayer;
class IReverseSequenceLayer;
class IRotaryEmbeddingLayer;
class IRuntime;
class IRuntimeConfig;
class IScaleLayer;
class IScatterLayer;
class ISelectLayer;
class ISerializationConfig;
class IShapeLayer;
class IShuffleLayer;
class ISliceLayer;
class ISoftMaxLayer;
class ISqueezeLayer;
class ITensor;
class ITimingCache;
class ITopKLayer;
class ITripLimitLayer;
class IUnaryLayer;
class IUnsqueezeLayer;

inline namespace v_1_0 {
class IErrorRecorder;
class IGpuAllocator;
class IStreamReader;
class IStreamReaderV2;
class IStreamWriter;
class IOutputAllocator;
class IDebugListener;
class IProfiler;
class IProgressMonitor;
class IAlgorithmSelector;
class IPluginV3;
struct TimingCacheKey;
struct TimingCacheValue;
}  // namespace v_1_0

namespace apiv {

class VRoot {
 public:
  virtual ~VRoot() noexcept = default;
};

}  // namespace apiv
}  // namespace nvinfer1
