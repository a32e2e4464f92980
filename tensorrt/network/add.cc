// SPDX-License-Identifier: Apache-2.0
// The layers of a network, as clients add them: each gets its name, its outputs, and the properties that TensorRT gives it at first.
#include "tensorrt/network/add.h"

#include <algorithm>

namespace octet_trt {

namespace {

Dims ones(int32_t count) {
  return to_dims(std::vector<int64_t>(static_cast<size_t>(std::max(0, count)), 1));
}

Dims zeros(int32_t count) {
  return to_dims(std::vector<int64_t>(static_cast<size_t>(std::max(0, count)), 0));
}

// The channels of CHW and of NCHW.
int32_t third_last(const ITensor& tensor) { return std::max(0, tensor.getDimensions().nbDims - 3); }

template <class Layer>
void set_window(Layer& layer, int32_t rank) {
  layer.setStrideNd(ones(rank));
  layer.setPaddingNd(zeros(rank));
}

void check_kernel(const Dims& sizes) {
  need_right(sizes, "kernel");
  if (sizes.nbDims == 2 || sizes.nbDims == 3) return;
  refuse("a kernel of sizes " + to_string(sizes) + " has neither two nor three dimensions");
}

// What convolutions of both directions are made with.
template <class Layer>
void set_kernel(Layer& layer, OctetSize maps, const Dims& sizes, const Weights& kernel,
                const Weights& bias) {
  layer.setNbOutputMaps(maps);
  layer.setKernelSizeNd(sizes);
  layer.setKernelWeights(kernel);
  layer.setBiasWeights(bias);
  layer.setDilationNd(ones(sizes.nbDims));
  set_window(layer, sizes.nbDims);
}

}  // namespace

IConvolutionLayer* Network::addConvolutionNd(ITensor& input, OctetSize nbOutputMaps,
                                             Dims const& kernelSize, Weights kernelWeights,
                                             Weights biasWeights) noexcept {
  OCTET_TRT_ADD("addConvolutionNd", IConvolutionLayer, {
    need_right(kernelWeights, "kernel");
    need_right(biasWeights, "bias");
    check_kernel(kernelSize);
    auto* layer = add<LayerOf<IConvolutionLayer>>(LayerType::kCONVOLUTION, "Convolution", {&input});
    set_kernel(*layer, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    return layer;
  });
}

IDeconvolutionLayer* Network::addDeconvolutionNd(ITensor& input, OctetSize nbOutputMaps,
                                                 Dims const& kernelSize, Weights kernelWeights,
                                                 Weights biasWeights) noexcept {
  OCTET_TRT_ADD("addDeconvolutionNd", IDeconvolutionLayer, {
    need_right(kernelWeights, "kernel");
    need_right(biasWeights, "bias");
    check_kernel(kernelSize);
    auto* layer =
        add<LayerOf<IDeconvolutionLayer>>(LayerType::kDECONVOLUTION, "Deconvolution", {&input});
    set_kernel(*layer, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    return layer;
  });
}

IPoolingLayer* Network::addPoolingNd(ITensor& input, PoolingType type,
                                     Dims const& windowSize) noexcept {
  OCTET_TRT_ADD("addPoolingNd", IPoolingLayer, {
    need_right(type, "type");
    need_right(windowSize, "window");
    auto* layer = add<LayerOf<IPoolingLayer>>(LayerType::kPOOLING, "Pooling", {&input});
    layer->setPoolingType(type);
    layer->setWindowSizeNd(windowSize);
    set_window(*layer, windowSize.nbDims);
    return layer;
  });
}

IActivationLayer* Network::addActivation(ITensor& input, ActivationType type) noexcept {
  OCTET_TRT_ADD("addActivation", IActivationLayer, {
    need_right(type, "type");
    auto* layer = add<LayerOf<IActivationLayer>>(LayerType::kACTIVATION, "Activation", {&input});
    layer->setActivationType(type);
    return layer;
  });
}

ILRNLayer* Network::addLRN(ITensor& input, OctetSize window, float alpha, float beta,
                           float k) noexcept {
  OCTET_TRT_ADD("addLRN", ILRNLayer, {
    auto* layer = add<LayerOf<ILRNLayer>>(LayerType::kLRN, "LRN", {&input});
    layer->setWindowSize(window);
    layer->setAlpha(alpha);
    layer->setBeta(beta);
    layer->setK(k);
    return layer;
  });
}

IScaleLayer* Network::addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                               Weights power) noexcept {
  OCTET_TRT_ADD("addScale", IScaleLayer, {
    need(&input, "tensor");
    return addScaleNd(input, mode, shift, scale, power, third_last(input));
  });
}

IScaleLayer* Network::addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                                 Weights power, int32_t channelAxis) noexcept {
  OCTET_TRT_ADD("addScaleNd", IScaleLayer, {
    need_right(mode, "mode");
    for (const Weights& weights : {shift, scale, power}) need_right(weights, "weights");
    auto* layer = add<LayerOf<IScaleLayer>>(LayerType::kSCALE, "Scale", {&input});
    layer->setMode(mode);
    layer->setShift(shift);
    layer->setScale(scale);
    layer->setPower(power);
    layer->setChannelAxis(channelAxis);
    return layer;
  });
}

ISoftMaxLayer* Network::addSoftMax(ITensor& input) noexcept {
  OCTET_TRT_ADD("addSoftMax", ISoftMaxLayer, {
    auto* layer = add<LayerOf<ISoftMaxLayer>>(LayerType::kSOFTMAX, "Softmax", {&input});
    layer->setAxes(1U << third_last(input));
    return layer;
  });
}

IConcatenationLayer* Network::addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept {
  OCTET_TRT_ADD("addConcatenation", IConcatenationLayer, {
    if (inputs == nullptr || nbInputs <= 0) refuse("a concatenation of nothing");
    const std::vector<ITensor*> list(inputs, inputs + nbInputs);
    auto* layer =
        add<LayerOf<IConcatenationLayer>>(LayerType::kCONCATENATION, "Concatenation", list);
    layer->setAxis(third_last(*list[0]));
    return layer;
  });
}

IElementWiseLayer* Network::addElementWise(ITensor& input1, ITensor& input2,
                                           ElementWiseOperation op) noexcept {
  OCTET_TRT_ADD("addElementWise", IElementWiseLayer, {
    need_right(op, "operation");
    auto* layer =
        add<LayerOf<IElementWiseLayer>>(LayerType::kELEMENTWISE, "ElementWise", {&input1, &input2});
    layer->setOperation(op);
    return layer;
  });
}

IUnaryLayer* Network::addUnary(ITensor& input, UnaryOperation operation) noexcept {
  OCTET_TRT_ADD("addUnary", IUnaryLayer, {
    need_right(operation, "operation");
    auto* layer = add<LayerOf<IUnaryLayer>>(LayerType::kUNARY, "Unary", {&input});
    layer->setOperation(operation);
    return layer;
  });
}

IPaddingLayer* Network::addPaddingNd(ITensor& input, Dims const& prePadding,
                                     Dims const& postPadding) noexcept {
  OCTET_TRT_ADD("addPaddingNd", IPaddingLayer, {
    need_right(prePadding, "padding before");
    need_right(postPadding, "padding behind");
    auto* layer = add<LayerOf<IPaddingLayer>>(LayerType::kPADDING, "Padding", {&input});
    layer->setPrePaddingNd(prePadding);
    layer->setPostPaddingNd(postPadding);
    return layer;
  });
}

IShuffleLayer* Network::addShuffle(ITensor& input) noexcept {
  OCTET_TRT_ADD("addShuffle", IShuffleLayer,
                { return add<LayerOf<IShuffleLayer>>(LayerType::kSHUFFLE, "Shuffle", {&input}); });
}

IReduceLayer* Network::addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                                 bool keepDimensions) noexcept {
  OCTET_TRT_ADD("addReduce", IReduceLayer, {
    need_right(operation, "operation");
    auto* layer = add<LayerOf<IReduceLayer>>(LayerType::kREDUCE, "Reduce", {&input});
    layer->setOperation(operation);
    layer->setReduceAxes(reduceAxes);
    layer->setKeepDimensions(keepDimensions);
    return layer;
  });
}

IMatrixMultiplyLayer* Network::addMatrixMultiply(ITensor& input0, MatrixOperation op0,
                                                 ITensor& input1, MatrixOperation op1) noexcept {
  OCTET_TRT_ADD("addMatrixMultiply", IMatrixMultiplyLayer, {
    for (const MatrixOperation op : {op0, op1}) need_right(op, "operation");
    auto* layer = add<LayerOf<IMatrixMultiplyLayer>>(LayerType::kMATRIX_MULTIPLY, "Matrix Multiply",
                                                     {&input0, &input1});
    layer->setOperation(0, op0);
    layer->setOperation(1, op1);
    return layer;
  });
}

IConstantLayer* Network::addConstant(Dims const& dimensions, Weights weights) noexcept {
  OCTET_TRT_ADD("addConstant", IConstantLayer, {
    need_right(dimensions, "sizes");
    need_right(weights, "weights");
    auto* layer = add<LayerOf<IConstantLayer>>(LayerType::kCONSTANT, "Constant", {});
    layer->setDimensions(dimensions);
    layer->setWeights(weights);
    return layer;
  });
}

IResizeLayer* Network::addResize(ITensor& input) noexcept {
  OCTET_TRT_ADD("addResize", IResizeLayer,
                { return add<LayerOf<IResizeLayer>>(LayerType::kRESIZE, "Resize", {&input}); });
}

ISliceLayer* Network::addSlice(ITensor& input, Dims const& start, Dims const& size,
                               Dims const& stride) noexcept {
  OCTET_TRT_ADD("addSlice", ISliceLayer, {
    for (const Dims* dims : {&start, &size, &stride}) need_right(*dims, "sizes");
    auto* layer = add<LayerOf<ISliceLayer>>(LayerType::kSLICE, "Slice", {&input});
    layer->setStart(start);
    layer->setSize(size);
    layer->setStride(stride);
    return layer;
  });
}

#if NV_TENSORRT_MAJOR < 10
IConvolutionLayer* Network::addConvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
                                           Weights kernelWeights, Weights biasWeights) noexcept {
  return addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
}
IDeconvolutionLayer* Network::addDeconvolution(ITensor& input, int32_t nbOutputMaps,
                                               DimsHW kernelSize, Weights kernelWeights,
                                               Weights biasWeights) noexcept {
  return addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
}
IPoolingLayer* Network::addPooling(ITensor& input, PoolingType type, DimsHW windowSize) noexcept {
  return addPoolingNd(input, type, windowSize);
}
IPaddingLayer* Network::addPadding(ITensor& input, DimsHW prePadding, DimsHW postPadding) noexcept {
  return addPaddingNd(input, prePadding, postPadding);
}
IFullyConnectedLayer* Network::addFullyConnected(ITensor& input, int32_t nbOutputs,
                                                 Weights kernelWeights,
                                                 Weights biasWeights) noexcept {
  OCTET_TRT_ADD("addFullyConnected", IFullyConnectedLayer, {
    auto* layer = add<LayerOf<IFullyConnectedLayer>>(LayerType::kFULLY_CONNECTED, "Fully Connected",
                                                     {&input});
    layer->setNbOutputChannels(nbOutputs);
    layer->setKernelWeights(kernelWeights);
    layer->setBiasWeights(biasWeights);
    return layer;
  });
}
#endif

}  // namespace octet_trt
