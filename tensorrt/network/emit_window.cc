// SPDX-License-Identifier: Apache-2.0
// Layers with windows: convolutions of both directions, pooling, padding, fully connected.
#include "tensorrt/network/emit.h"

namespace octet_trt {
namespace {

using Sizes = std::vector<int64_t>;

// What the layers with windows say alike, in ONNX's words.
struct Window {
  Sizes kernel, strides, dilations, pre, post;
};

Sizes filled(const Dims& dims, size_t rank, int64_t value) {
  if (dims.nbDims == 0) return Sizes(rank, value);
  Sizes sizes = to_vector(dims);
  if (sizes.size() != rank) {
    refuse("a stride, padding or dilation " + to_string(dims) + " is not for " +
           std::to_string(rank) + " dimensions");
  }
  return sizes;
}

template <class Layer>
Window window_of(const Layer& layer, const Dims& kernel) {
  Window window;
  window.kernel = to_vector(kernel);
  const size_t rank = window.kernel.size();
  window.strides = filled(layer.getStrideNd(), rank, 1);
  window.dilations = Sizes(rank, 1);
  window.pre = filled(layer.getPrePadding(), rank, 0);
  window.post = filled(layer.getPostPadding(), rank, 0);
  return window;
}

// Rounding up shows the window what lies beyond the end: more padding there, where the sizes are known.
bool round_up(Window& window, const Dims& input) {
  const size_t rank = window.kernel.size();
  const auto first = static_cast<size_t>(input.nbDims) - rank;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = input.d[first + i];
    if (size < 0) return false;
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t left = (size + window.pre[i] + window.post[i] - reach) % window.strides[i];
    if (left > 0) window.post[i] += window.strides[i] - left;
  }
  return true;
}

OnnxAttributes window_attributes(Window window, PaddingMode mode, const Dims& input) {
  OnnxAttributes attributes = {{"kernel_shape", window.kernel}, {"strides", window.strides}};
  if (mode == PaddingMode::kSAME_UPPER || mode == PaddingMode::kSAME_LOWER) {
    attributes.push_back(
        {"auto_pad", std::string(mode == PaddingMode::kSAME_UPPER ? "SAME_UPPER" : "SAME_LOWER")});
    return attributes;
  }
  bool rounds_up = mode == PaddingMode::kEXPLICIT_ROUND_UP;
#if NV_TENSORRT_MAJOR < 10
  rounds_up = rounds_up || mode == PaddingMode::kCAFFE_ROUND_UP;
#endif
  if (rounds_up && !round_up(window, input)) {
    refuse("rounding the size of an output up needs sizes of the input that are known: " +
           to_string(input));
  }
  Sizes pads = window.pre;
  pads.insert(pads.end(), window.post.begin(), window.post.end());
  attributes.push_back({"pads", pads});
  return attributes;
}

int64_t channels_of(const Dims& input, size_t rank, const std::string& layer) {
  const int64_t at = input.nbDims - static_cast<int64_t>(rank) - 1;
  if (at < 0 || input.d[at] < 0) {
    refuse("layer '" + layer + "': its input of sizes " + to_string(input) +
           " has no known number of channels before " + std::to_string(rank) + " dimensions");
  }
  return input.d[at];
}

// Kernel and bias of a convolution: of its own, or of inputs 1 and 2.
template <class Layer>
std::vector<std::string> operands(const Layer& layer, Emission& out, Sizes kernel_sizes) {
  std::vector<std::string> inputs = {out.in(0)};
  inputs.push_back(out.has(1) ? out.in(1)
                              : out.weights(layer.getKernelWeights(), kernel_sizes, "kernel"));
  const Weights bias = layer.getBiasWeights();
  if (out.has(2)) {
    inputs.push_back(out.in(2));
  } else if (bias.count > 0) {
    inputs.push_back(out.weights(bias, {layer.getNbOutputMaps()}, "bias"));
  }
  return inputs;
}

int64_t groups_of(int64_t groups, int64_t channels, const std::string& layer) {
  if (groups > 0 && channels % groups == 0) return groups;
  refuse("layer '" + layer + "': " + std::to_string(channels) + " channels are not " +
         std::to_string(groups) + " groups");
}

// `maps` tells the first two sizes of the kernel, of the input's channels and the groups.
template <class Layer, class Maps>
void emit_convolution(const Layer& layer, Emission& out, const char* operation, PaddingMode mode,
                      const Maps& maps) {
  const Dims input = out.dims(0);
  Window window = window_of(layer, layer.getKernelSizeNd());
  window.dilations = filled(layer.getDilationNd(), window.kernel.size(), 1);
  const std::string& name = out.layer().name;
  const int64_t channels = channels_of(input, window.kernel.size(), name);
  const int64_t groups = groups_of(layer.getNbGroups(), channels, name);
  Sizes kernel = maps(channels, groups);
  kernel.insert(kernel.end(), window.kernel.begin(), window.kernel.end());
  OnnxAttributes attributes = window_attributes(window, mode, input);
  attributes.push_back({"dilations", window.dilations});
  attributes.push_back({"group", groups});
  out.last(operation, operands(layer, out, kernel), attributes);
}

}  // namespace

void emit_layer(const IConvolutionLayer& layer, Emission& out) {
  emit_convolution(layer, out, "Conv", layer.getPaddingMode(),
                   [&](int64_t channels, int64_t groups) {
                     return Sizes{layer.getNbOutputMaps(), channels / groups};
                   });
}

void emit_layer(const IDeconvolutionLayer& layer, Emission& out) {
  PaddingMode mode = layer.getPaddingMode();
  if (mode == PaddingMode::kEXPLICIT_ROUND_UP) mode = PaddingMode::kEXPLICIT_ROUND_DOWN;
  emit_convolution(layer, out, "ConvTranspose", mode, [&](int64_t channels, int64_t groups) {
    return Sizes{channels, layer.getNbOutputMaps() / groups};
  });
}

void emit_layer(const IPoolingLayer& layer, Emission& out) {
  const Dims input = out.dims(0);
  const Window window = window_of(layer, layer.getWindowSizeNd());
  const OnnxAttributes attributes = window_attributes(window, layer.getPaddingMode(), input);
  OnnxAttributes average = attributes;
  average.push_back({"count_include_pad", int64_t{!layer.getAverageCountExcludesPadding()}});
  if (layer.getPoolingType() == PoolingType::kMAX) {
    out.last("MaxPool", {out.in(0)}, attributes);
    return;
  }
  if (layer.getPoolingType() == PoolingType::kAVERAGE) {
    out.last("AveragePool", {out.in(0)}, average);
    return;
  }
  const float blend = layer.getBlendFactor();
  const std::string most = out.node("MaxPool", {out.in(0)}, attributes);
  const std::string mean = out.node("AveragePool", {out.in(0)}, average);
  out.last("Add", {out.node("Mul", {most, out.scalar(1 - blend)}),
                   out.node("Mul", {mean, out.scalar(blend)})});
}

void emit_layer(const IPaddingLayer& layer, Emission& out) {
  const auto rank = static_cast<size_t>(out.dims(0).nbDims + out.batch());
  const Sizes pre = to_vector(layer.getPrePaddingNd()), post = to_vector(layer.getPostPaddingNd());
  if (pre.size() != post.size() || pre.size() > rank)
    refuse("layer '" + out.layer().name + "': paddings that do not fit its input");
  Sizes pads(2 * rank, 0);
  for (size_t i = 0; i < pre.size(); ++i) {
    pads[rank - pre.size() + i] = pre[i];
    pads[2 * rank - pre.size() + i] = post[i];
  }
  out.last("Pad", {out.in(0), out.integers(pads)});
}

#if NV_TENSORRT_MAJOR < 10
// The weights of all elements of a map are those of a convolution whose window is the map.
void emit_layer(const IFullyConnectedLayer& layer, Emission& out) {
  const Dims input = out.dims(0);
  if (input.nbDims < 3) {
    refuse("layer '" + out.layer().name + "': a fully connected layer reads CxHxW, not " +
           to_string(input));
  }
  const Sizes sizes = to_vector(input);
  const Sizes kernel = {layer.getNbOutputChannels(), sizes[sizes.size() - 3],
                        sizes[sizes.size() - 2], sizes[sizes.size() - 1]};
  std::vector<std::string> inputs = {out.in(0),
                                     out.weights(layer.getKernelWeights(), kernel, "kernel")};
  const Weights bias = layer.getBiasWeights();
  if (bias.count > 0) inputs.push_back(out.weights(bias, {layer.getNbOutputChannels()}, "bias"));
  out.last("Conv", inputs, {{"kernel_shape", Sizes{kernel[2], kernel[3]}}});
}
#endif

}  // namespace octet_trt
