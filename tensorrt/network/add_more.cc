// SPDX-License-Identifier: Apache-2.0
// The rest of the layers: indices, sizes, types, quantization, detection.
#include "tensorrt/network/add.h"

namespace octet_trt {

ITopKLayer* Network::addTopK(ITensor& input, TopKOperation op, int32_t k,
                             uint32_t reduceAxes) noexcept {
  OCTET_TRT_ADD("addTopK", ITopKLayer, {
    need_right(op, "operation");
    auto* layer = add<LayerOf<ITopKLayer>>(LayerType::kTOPK, "TopK", {&input}, 2);
    layer->setOperation(op);
    layer->setK(k);
    layer->setReduceAxes(reduceAxes);
    return layer;
  });
}

IGatherLayer* Network::addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept {
  IGatherLayer* layer = addGatherV2(data, indices, GatherMode::kDEFAULT);
  if (layer != nullptr) layer->setGatherAxis(axis);
  return layer;
}

IGatherLayer* Network::addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept {
  OCTET_TRT_ADD("addGatherV2", IGatherLayer, {
    need_right(mode, "mode");
    auto* layer = add<LayerOf<IGatherLayer>>(LayerType::kGATHER, "Gather", {&data, &indices});
    layer->setMode(mode);
    return layer;
  });
}

INonZeroLayer* Network::addNonZero(ITensor& input) noexcept {
  OCTET_TRT_ADD("addNonZero", INonZeroLayer,
                { return add<LayerOf<INonZeroLayer>>(LayerType::kNON_ZERO, "NonZero", {&input}); });
}

IIdentityLayer* Network::addIdentity(ITensor& input) noexcept {
  OCTET_TRT_ADD("addIdentity", IIdentityLayer, {
    return add<LayerOf<IIdentityLayer>>(LayerType::kIDENTITY, "Identity", {&input});
  });
}

ICastLayer* Network::addCast(ITensor& input, DataType toType) noexcept {
  OCTET_TRT_ADD("addCast", ICastLayer, {
    need_right(toType, "type");
    auto* layer = add<LayerOf<ICastLayer>>(LayerType::kCAST, "Cast", {&input});
    layer->setToType(toType);
    return layer;
  });
}

IShapeLayer* Network::addShape(ITensor& input) noexcept {
  OCTET_TRT_ADD("addShape", IShapeLayer,
                { return add<LayerOf<IShapeLayer>>(LayerType::kSHAPE, "Shape", {&input}); });
}

IParametricReLULayer* Network::addParametricReLU(ITensor& input, ITensor& slope) noexcept {
  OCTET_TRT_ADD("addParametricReLU", IParametricReLULayer, {
    return add<LayerOf<IParametricReLULayer>>(LayerType::kPARAMETRIC_RELU, "Parametric ReLU",
                                              {&input, &slope});
  });
}

ISelectLayer* Network::addSelect(ITensor& condition, ITensor& thenInput,
                                 ITensor& elseInput) noexcept {
  OCTET_TRT_ADD("addSelect", ISelectLayer, {
    return add<LayerOf<ISelectLayer>>(LayerType::kSELECT, "Select",
                                      {&condition, &thenInput, &elseInput});
  });
}

IAssertionLayer* Network::addAssertion(ITensor& condition, char const* message) noexcept {
  OCTET_TRT_ADD("addAssertion", IAssertionLayer, {
    auto* layer =
        add<LayerOf<IAssertionLayer>>(LayerType::kASSERTION, "Assertion", {&condition}, 0);
    layer->setMessage(message);
    return layer;
  });
}

IFillLayer* Network::addFill(Dims const& dimensions, FillOperation op) noexcept {
  OCTET_TRT_ADD("addFill", IFillLayer, {
    need_right(dimensions, "sizes");
    need_right(op, "operation");
    auto* layer = add<LayerOf<IFillLayer>>(LayerType::kFILL, "Fill", {});
    layer->setDimensions(dimensions);
    layer->setOperation(op);
    return layer;
  });
}

IQuantizeLayer* Network::addQuantize(ITensor& input, ITensor& scale) noexcept {
  OCTET_TRT_ADD("addQuantize", IQuantizeLayer, {
    return add<LayerOf<IQuantizeLayer>>(LayerType::kQUANTIZE, "Quantize", {&input, &scale});
  });
}

IDequantizeLayer* Network::addDequantize(ITensor& input, ITensor& scale) noexcept {
  OCTET_TRT_ADD("addDequantize", IDequantizeLayer, {
    return add<LayerOf<IDequantizeLayer>>(LayerType::kDEQUANTIZE, "Dequantize", {&input, &scale});
  });
}

IScatterLayer* Network::addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                                   ScatterMode mode) noexcept {
  OCTET_TRT_ADD("addScatter", IScatterLayer, {
    need_right(mode, "mode");
    auto* layer =
        add<LayerOf<IScatterLayer>>(LayerType::kSCATTER, "Scatter", {&data, &indices, &updates});
    layer->setMode(mode);
    return layer;
  });
}

IEinsumLayer* Network::addEinsum(ITensor* const* inputs, int32_t nbInputs,
                                 char const* equation) noexcept {
  OCTET_TRT_ADD("addEinsum", IEinsumLayer, {
    if (inputs == nullptr || nbInputs <= 0 || equation == nullptr) refuse("an Einsum of nothing");
    auto* layer = add<LayerOf<IEinsumLayer>>(LayerType::kEINSUM, "Einsum",
                                             std::vector<ITensor*>(inputs, inputs + nbInputs));
    layer->setEquation(equation);
    return layer;
  });
}

IGridSampleLayer* Network::addGridSample(ITensor& input, ITensor& grid) noexcept {
  OCTET_TRT_ADD("addGridSample", IGridSampleLayer, {
    return add<LayerOf<IGridSampleLayer>>(LayerType::kGRID_SAMPLE, "GridSample", {&input, &grid});
  });
}

IOneHotLayer* Network::addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                                 int32_t axis) noexcept {
  OCTET_TRT_ADD("addOneHot", IOneHotLayer, {
    auto* layer =
        add<LayerOf<IOneHotLayer>>(LayerType::kONE_HOT, "OneHot", {&indices, &values, &depth});
    layer->setAxis(axis);
    return layer;
  });
}

INMSLayer* Network::addNMS(ITensor& boxes, ITensor& scores,
                           ITensor& maxOutputBoxesPerClass) noexcept {
  OCTET_TRT_ADD("addNMS", INMSLayer, {
    return add<LayerOf<INMSLayer>>(LayerType::kNMS, "NMS",
                                   {&boxes, &scores, &maxOutputBoxesPerClass}, 2);
  });
}

IReverseSequenceLayer* Network::addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept {
  OCTET_TRT_ADD("addReverseSequence", IReverseSequenceLayer, {
    return add<LayerOf<IReverseSequenceLayer>>(LayerType::kREVERSE_SEQUENCE, "ReverseSequence",
                                               {&input, &sequenceLens});
  });
}

INormalizationLayer* Network::addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                               uint32_t axesMask) noexcept {
  OCTET_TRT_ADD("addNormalization", INormalizationLayer, {
    auto* layer = add<LayerOf<INormalizationLayer>>(LayerType::kNORMALIZATION, "Normalization",
                                                    {&input, &scale, &bias});
    layer->setAxes(axesMask);
    return layer;
  });
}

#if NV_TENSORRT_MAJOR >= 10
namespace {

// With scale and bias of channels, whatever the groups.
class NormalizationV2 final : public LayerOf<INormalizationLayer> {
 public:
  using LayerOf<INormalizationLayer>::LayerOf;
  bool isV2() const noexcept override { return true; }
};

}  // namespace

INormalizationLayer* Network::addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                                 uint32_t axesMask) noexcept {
  OCTET_TRT_ADD("addNormalizationV2", INormalizationLayer, {
    auto* layer =
        add<NormalizationV2>(LayerType::kNORMALIZATION, "Normalization", {&input, &scale, &bias});
    layer->setAxes(axesMask);
    return layer;
  });
}

IRotaryEmbeddingLayer* Network::addRotaryEmbedding(ITensor& input, ITensor& cosCache,
                                                   ITensor& sinCache, bool interleaved,
                                                   int32_t rotaryEmbeddingDim) noexcept {
  OCTET_TRT_ADD("addRotaryEmbedding", IRotaryEmbeddingLayer, {
    if (rotaryEmbeddingDim < 0 || rotaryEmbeddingDim % 2 != 0)
      refuse(std::to_string(rotaryEmbeddingDim) + " numbers of a head are no pairs");
    auto* layer = add<LayerOf<IRotaryEmbeddingLayer>>(
        LayerType::kROTARY_EMBEDDING, "RotaryEmbedding", {&input, &cosCache, &sinCache});
    layer->setInterleaved(interleaved);
    static_cast<void>(layer->setRotaryEmbeddingDim(rotaryEmbeddingDim));
    return layer;
  });
}

namespace {

// A layer with a type that there is not is refused before it is one of the network's.
template <class Add>
auto with_type(DataType type, const Add& add) {
  need_right(type, "type");
  auto* layer = add();
  if (layer != nullptr) layer->setToType(type);
  return layer;
}

}  // namespace

IFillLayer* Network::addFillV2(Dims const& dimensions, FillOperation op,
                               DataType outputType) noexcept {
  OCTET_TRT_ADD("addFill", IFillLayer,
                { return with_type(outputType, [&] { return addFill(dimensions, op); }); });
}

IQuantizeLayer* Network::addQuantizeV2(ITensor& input, ITensor& scale,
                                       DataType outputType) noexcept {
  OCTET_TRT_ADD("addQuantize", IQuantizeLayer,
                { return with_type(outputType, [&] { return addQuantize(input, scale); }); });
}

IDequantizeLayer* Network::addDequantizeV2(ITensor& input, ITensor& scale,
                                           DataType outputType) noexcept {
  OCTET_TRT_ADD("addDequantize", IDequantizeLayer,
                { return with_type(outputType, [&] { return addDequantize(input, scale); }); });
}

namespace {

// A layer of another type is refused before it is one of the network's.
template <class Add>
auto with_indices(DataType type, const Add& add) {
  if (type != DataType::kINT32 && type != DataType::kINT64)
    refuse(std::string("indices are INT32 or INT64, not ") + name_of(type));
  auto* layer = add();
  if (layer != nullptr) static_cast<void>(layer->setIndicesType(type));
  return layer;
}

}  // namespace

ITopKLayer* Network::addTopKV2(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes,
                               DataType indicesType) noexcept {
  OCTET_TRT_ADD("addTopK", ITopKLayer, {
    return with_indices(indicesType, [&] { return addTopK(input, op, k, reduceAxes); });
  });
}

INonZeroLayer* Network::addNonZeroV2(ITensor& input, DataType indicesType) noexcept {
  OCTET_TRT_ADD("addNonZero", INonZeroLayer,
                { return with_indices(indicesType, [&] { return addNonZero(input); }); });
}

INMSLayer* Network::addNMSV2(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                             DataType indicesType) noexcept {
  OCTET_TRT_ADD("addNMS", INMSLayer, {
    return with_indices(indicesType, [&] { return addNMS(boxes, scores, maxOutputBoxesPerClass); });
  });
}

ISqueezeLayer* Network::addSqueeze(ITensor& input, ITensor& axes) noexcept {
  OCTET_TRT_ADD("addSqueeze", ISqueezeLayer, {
    return add<LayerOf<ISqueezeLayer>>(LayerType::kSQUEEZE, "Squeeze", {&input, &axes});
  });
}

IUnsqueezeLayer* Network::addUnsqueeze(ITensor& input, ITensor& axes) noexcept {
  OCTET_TRT_ADD("addUnsqueeze", IUnsqueezeLayer, {
    return add<LayerOf<IUnsqueezeLayer>>(LayerType::kUNSQUEEZE, "Unsqueeze", {&input, &axes});
  });
}

ICumulativeLayer* Network::addCumulative(ITensor& input, ITensor& axis,
                                         CumulativeOperation operation, bool exclusive,
                                         bool reverse) noexcept {
  OCTET_TRT_ADD("addCumulative", ICumulativeLayer, {
    need_right(operation, "operation");
    auto* layer =
        add<LayerOf<ICumulativeLayer>>(LayerType::kCUMULATIVE, "Cumulative", {&input, &axis});
    layer->setOperation(operation);
    layer->setExclusive(exclusive);
    layer->setReverse(reverse);
    return layer;
  });
}
#endif

}  // namespace octet_trt
