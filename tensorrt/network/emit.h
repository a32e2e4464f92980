// SPDX-License-Identifier: Apache-2.0
// One function for each kind of layer, which writes it as ONNX nodes.
#pragma once

#include "tensorrt/network/emission.h"

namespace octet_trt {

// Of what a layer counts or finds: level 8 has no choice.
template <class Layer>
DataType indices_type([[maybe_unused]] const Layer& layer) {
#if NV_TENSORRT_MAJOR >= 10
  return layer.getIndicesType();
#else
  return DataType::kINT32;
#endif
}

void emit_layer(const IConvolutionLayer& layer, Emission& out);
void emit_layer(const IDeconvolutionLayer& layer, Emission& out);
void emit_layer(const IPoolingLayer& layer, Emission& out);
void emit_layer(const IActivationLayer& layer, Emission& out);
void emit_layer(const ILRNLayer& layer, Emission& out);
void emit_layer(const IScaleLayer& layer, Emission& out);
void emit_layer(const ISoftMaxLayer& layer, Emission& out);
void emit_layer(const IConcatenationLayer& layer, Emission& out);
void emit_layer(const IElementWiseLayer& layer, Emission& out);
void emit_layer(const IUnaryLayer& layer, Emission& out);
void emit_layer(const IReduceLayer& layer, Emission& out);
void emit_layer(const IPaddingLayer& layer, Emission& out);
void emit_layer(const IShuffleLayer& layer, Emission& out);
void emit_layer(const ISliceLayer& layer, Emission& out);
void emit_layer(const IShapeLayer& layer, Emission& out);
void emit_layer(const ITopKLayer& layer, Emission& out);
void emit_layer(const IGatherLayer& layer, Emission& out);
void emit_layer(const IMatrixMultiplyLayer& layer, Emission& out);
void emit_layer(const INonZeroLayer& layer, Emission& out);
void emit_layer(const IIdentityLayer& layer, Emission& out);
void emit_layer(const IParametricReLULayer& layer, Emission& out);
void emit_layer(const ISelectLayer& layer, Emission& out);
void emit_layer(const ICastLayer& layer, Emission& out);
void emit_layer(const IConstantLayer& layer, Emission& out);
void emit_layer(const IResizeLayer& layer, Emission& out);
void emit_layer(const IFillLayer& layer, Emission& out);
void emit_layer(const IQuantizeLayer& layer, Emission& out);
void emit_layer(const IDequantizeLayer& layer, Emission& out);
void emit_layer(const IEinsumLayer& layer, Emission& out);
void emit_layer(const IAssertionLayer& layer, Emission& out);
void emit_layer(const IScatterLayer& layer, Emission& out);
void emit_layer(const IOneHotLayer& layer, Emission& out);
void emit_layer(const IGridSampleLayer& layer, Emission& out);
void emit_layer(const INMSLayer& layer, Emission& out);
void emit_layer(const IReverseSequenceLayer& layer, Emission& out);
void emit_layer(const INormalizationLayer& layer, Emission& out);
void emit_layer(const IPluginV2Layer& layer, Emission& out);
// What bounds a loop or a condition, by itself: enough to tell the type of what it gives.
void emit_layer(const IRecurrenceLayer& layer, Emission& out);
void emit_layer(const ITripLimitLayer& layer, Emission& out);
void emit_layer(const IIteratorLayer& layer, Emission& out);
void emit_layer(const ILoopOutputLayer& layer, Emission& out);
void emit_layer(const IConditionLayer& layer, Emission& out);
void emit_layer(const IIfConditionalInputLayer& layer, Emission& out);
void emit_layer(const IIfConditionalOutputLayer& layer, Emission& out);
#if NV_TENSORRT_MAJOR >= 10
void emit_layer(const IPluginV3Layer& layer, Emission& out);
void emit_layer(const ISqueezeLayer& layer, Emission& out);
void emit_layer(const IUnsqueezeLayer& layer, Emission& out);
void emit_layer(const ICumulativeLayer& layer, Emission& out);
void emit_layer(const IRotaryEmbeddingLayer& layer, Emission& out);
void emit_layer(const IAttentionOutputLayer& layer, Emission& out);
#else
void emit_layer(const IFullyConnectedLayer& layer, Emission& out);
#endif

}  // namespace octet_trt
