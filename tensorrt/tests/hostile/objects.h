// SPDX-License-Identifier: Apache-2.0
// For each class of tests/abi_slots.def the object whose functions are called.
#pragma once

#include <functional>

#include "world.h"

namespace hostile {

template <class Class>
struct Tag {};

// The table behind a handle, which only what derives from it sees.
template <class Handle>
auto* table_of(Handle& handle) {
  struct Open : Handle {
    static auto pointer() { return &Open::mImpl; }
  };
  return handle.*Open::pointer();
}
inline VLayer* table_of_all(ILayer& layer) {
  struct Open : ILayer {
    static auto pointer() { return &Open::mLayer; }
  };
  return layer.*Open::pointer();
}

template <class Layer>
auto* table_of_boundary(Layer& layer) {
  struct Open : Layer {
    static auto pointer() { return &Open::mBoundary; }
  };
  return layer.*Open::pointer();
}

using Call = std::function<void(void*)>;

#define HOSTILE_OBJECT(Table, made)                              \
  inline void with(Tag<Table>, World& world, const Call& call) { \
    call(static_cast<Table*>(table_of(made)));                   \
  }
#define HOSTILE_LAYER(Table, add) HOSTILE_OBJECT(Table, world.layer(world.network().add))
#define HOSTILE_X world.input()
#define HOSTILE_I world.integers()
#define HOSTILE_W (Weights{DataType::kFLOAT, world.values, 16})

HOSTILE_OBJECT(VBuilder, world.builder())
HOSTILE_OBJECT(VNetworkDefinition, world.network())
HOSTILE_OBJECT(VBuilderConfig, world.config())
HOSTILE_OBJECT(VTensor, world.input())
HOSTILE_OBJECT(VOptimizationProfile, world.profile())
HOSTILE_OBJECT(VTimingCache, world.timing_cache())
HOSTILE_OBJECT(VRuntime, world.runtime())
HOSTILE_OBJECT(VCudaEngine, world.engine())
HOSTILE_OBJECT(VExecutionContext, world.context())
HOSTILE_OBJECT(VEngineInspector, world.keep(world.engine().createEngineInspector()))
HOSTILE_OBJECT(VRefitter, world.refitter())
HOSTILE_OBJECT(VHostMemory, world.keep(world.engine().serialize()))
HOSTILE_OBJECT(VSerializationConfig, world.keep(world.engine().createSerializationConfig()))
HOSTILE_OBJECT(VRuntimeConfig, world.keep(world.engine().createRuntimeConfig()))

HOSTILE_LAYER(VActivationLayer, addActivation(HOSTILE_X, ActivationType::kRELU))
HOSTILE_LAYER(VAssertionLayer, addAssertion(HOSTILE_X, "x"))
HOSTILE_LAYER(VCastLayer, addCast(HOSTILE_X, DataType::kINT32))
HOSTILE_LAYER(VConcatenationLayer, addConcatenation((HOSTILE_X, world.tensors), 2))
HOSTILE_LAYER(VConstantLayer, addConstant(Dims2{4, 4}, HOSTILE_W))
HOSTILE_LAYER(VConvolutionLayer, addConvolutionNd(HOSTILE_X, 4, Dims2{1, 1}, HOSTILE_W, Weights{}))
HOSTILE_LAYER(VCumulativeLayer,
              addCumulative(HOSTILE_X, HOSTILE_I, CumulativeOperation::kSUM, false, false))
HOSTILE_LAYER(VDeconvolutionLayer,
              addDeconvolutionNd(HOSTILE_X, 4, Dims2{1, 1}, HOSTILE_W, Weights{}))
HOSTILE_LAYER(VDequantizeLayer, addDequantize(HOSTILE_X, HOSTILE_X, DataType::kFLOAT))
HOSTILE_LAYER(VEinsumLayer, addEinsum((HOSTILE_X, world.tensors), 1, "abcd->abdc"))
HOSTILE_LAYER(VElementWiseLayer, addElementWise(HOSTILE_X, HOSTILE_X, ElementWiseOperation::kSUM))
HOSTILE_LAYER(VFillLayer, addFill(Dims{1, {4}}, FillOperation::kLINSPACE, DataType::kFLOAT))
HOSTILE_LAYER(VGatherLayer, addGather(HOSTILE_X, HOSTILE_I, 1))
HOSTILE_LAYER(VGridSampleLayer, addGridSample(HOSTILE_X, HOSTILE_X))
HOSTILE_LAYER(VLRNLayer, addLRN(HOSTILE_X, 3, 1, 1, 1))
HOSTILE_LAYER(VMatrixMultiplyLayer, addMatrixMultiply(HOSTILE_X, MatrixOperation::kNONE, HOSTILE_X,
                                                      MatrixOperation::kTRANSPOSE))
HOSTILE_LAYER(VNMSLayer, addNMS(HOSTILE_X, HOSTILE_X, HOSTILE_I))
HOSTILE_LAYER(VNonZeroLayer, addNonZero(HOSTILE_X))
HOSTILE_LAYER(VNormalizationLayer, addNormalization(HOSTILE_X, HOSTILE_X, HOSTILE_X, 2))
HOSTILE_LAYER(VOneHotLayer, addOneHot(HOSTILE_I, HOSTILE_X, HOSTILE_I, 0))
HOSTILE_LAYER(VPaddingLayer, addPaddingNd(HOSTILE_X, Dims2{1, 1}, Dims2{1, 1}))
HOSTILE_LAYER(VPluginV2Layer,
              addPluginV2((HOSTILE_X, world.tensors), 1, world.keep(new ElderPlugin)))
HOSTILE_LAYER(VPluginV3Layer,
              addPluginV3((HOSTILE_X, world.tensors), 1, nullptr, 0, world.keep(new Plugin)))
HOSTILE_LAYER(VPoolingLayer, addPoolingNd(HOSTILE_X, PoolingType::kMAX, Dims2{2, 2}))
HOSTILE_LAYER(VQuantizeLayer, addQuantize(HOSTILE_X, HOSTILE_X, DataType::kINT8))
HOSTILE_LAYER(VReduceLayer, addReduce(HOSTILE_X, ReduceOperation::kSUM, 2, true))
HOSTILE_LAYER(VResizeLayer, addResize(HOSTILE_X))
HOSTILE_LAYER(VReverseSequenceLayer, addReverseSequence(HOSTILE_X, HOSTILE_I))
HOSTILE_LAYER(VRotaryEmbeddingLayer, addRotaryEmbedding(HOSTILE_X, HOSTILE_X, HOSTILE_X, false, 0))
HOSTILE_LAYER(VScaleLayer,
              addScale(HOSTILE_X, ScaleMode::kUNIFORM, Weights{}, Weights{}, Weights{}))
HOSTILE_LAYER(VScatterLayer, addScatter(HOSTILE_X, HOSTILE_X, HOSTILE_X, ScatterMode::kELEMENT))
HOSTILE_LAYER(VShuffleLayer, addShuffle(HOSTILE_X))
HOSTILE_LAYER(VSliceLayer,
              addSlice(HOSTILE_X, Dims4{0, 0, 0, 0}, Dims4{1, 1, 1, 1}, Dims4{1, 1, 1, 1}))
HOSTILE_LAYER(VSoftMaxLayer, addSoftMax(HOSTILE_X))
HOSTILE_LAYER(VTopKLayer, addTopK(HOSTILE_X, TopKOperation::kMAX, 2, 2))
HOSTILE_LAYER(VUnaryLayer, addUnary(HOSTILE_X, UnaryOperation::kEXP))

HOSTILE_OBJECT(VLoop, world.loop())
HOSTILE_OBJECT(VTripLimitLayer,
               world.layer(world.loop().addTripLimit(HOSTILE_I, TripLimit::kCOUNT)))
HOSTILE_OBJECT(VIteratorLayer, world.layer(world.loop().addIterator(HOSTILE_X)))
HOSTILE_OBJECT(VLoopOutputLayer,
               world.layer(world.loop().addLoopOutput(HOSTILE_X, LoopOutput::kCONCATENATE)))
HOSTILE_OBJECT(VIfConditional, world.conditional())
HOSTILE_OBJECT(VAttention, world.attention())
inline void with(Tag<VLoopBoundaryLayer>, World& world, const Call& call) {
  call(table_of_boundary(world.layer(world.loop().addRecurrence(HOSTILE_X))));
}
inline void with(Tag<VAttentionBoundaryLayer>, World& world, const Call& call) {
  world.attention();
  ILayer* layer = world.network().getLayer(0);
  call(table_of_boundary(world.layer(static_cast<IAttentionOutputLayer*>(layer))));
}
inline void with(Tag<VConditionalBoundaryLayer>, World& world, const Call& call) {
  call(table_of_boundary(world.layer(world.conditional().addInput(HOSTILE_X))));
}

inline void with(Tag<VLayer>, World& world, const Call& call) {
  call(table_of_all(world.layer(world.network().addActivation(HOSTILE_X, ActivationType::kRELU))));
}

// Classes whose functions are called directly.
inline void with(Tag<IPluginRegistry>, World& world, const Call& call) {
  IPluginRegistry& registry = *getPluginRegistry();
  registry.setErrorRecorder(&world.recorder);  // it has no logger
  call(&registry);
  registry.setErrorRecorder(nullptr);
}
inline void with(Tag<IParser>, World& world, const Call& call) { call(&world.parser()); }
inline void with(Tag<IParserRefitter>, World& world, const Call& call) {
  call(&world.parser_refitter());
}
inline void with(Tag<IParserError>, World& world, const Call& call) {
  world.parser().parse("no model", 8);
  call(const_cast<IParserError*>(world.parser().getError(0)));
}

// What a plugin is given lives as long as the call.
inline void with(Tag<VExprBuilder>, World& world, const Call& call) {
  Plugin::shapes() = [&](IExprBuilder& builder, const IDimensionExpr& size) {
    world.size = &size;
    call(static_cast<VExprBuilder*>(table_of(builder)));
  };
  with(Tag<VPluginV3Layer>(), world, [](void*) {});
  world.network().getLayer(0)->getOutput(0)->getDimensions();
  Plugin::shapes() = nullptr;
}
inline void with(Tag<VDimensionExpr>, World& world, const Call& call) {
  Plugin::shapes() = [&](IExprBuilder&, const IDimensionExpr& size) {
    call(static_cast<VDimensionExpr*>(table_of(const_cast<IDimensionExpr&>(size))));
  };
  with(Tag<VPluginV3Layer>(), world, [](void*) {});
  world.network().getLayer(0)->getOutput(0)->getDimensions();
  Plugin::shapes() = nullptr;
}
inline void with(Tag<IPluginResourceContext>, World& world, const Call& call) {
  Plugin::attached() = [&](IPluginResourceContext& context) { call(&context); };
  with(Tag<VPluginV3Layer>(), world, [](void*) {});
  world.use();
  Plugin::attached() = nullptr;
}

#undef HOSTILE_OBJECT
#undef HOSTILE_LAYER
#undef HOSTILE_X
#undef HOSTILE_I
#undef HOSTILE_W

}  // namespace hostile
