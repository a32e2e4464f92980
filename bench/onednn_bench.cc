// SPDX-License-Identifier: Apache-2.0
// oneDNN by itself on the convolutions of ResNet-50, MobileNetV2 and ResNet-18: u8 activations, s8 weights per channel, u8 results, one
// primitive a layer in the formats that oneDNN prefers, one after another like the layers of a network. What `octet bench --layers`
// sums up for the convolutions of the same network is held against it.
// Usage: onednn_bench [resnet50|resnet18|mobilenet_v2] [repetitions] [batch] [layers]; CPUs: pin it, and OMP_NUM_THREADS=1.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

namespace {

using dnnl::memory;
using Dims = memory::dims;

struct Layer {
  long channels, size, outputs, kernel, stride, groups;
};

long padded(const Layer& layer) { return layer.kernel / 2; }
long out_size(const Layer& layer) {
  return (layer.size + 2 * padded(layer) - layer.kernel) / layer.stride + 1;
}

std::vector<Layer> resnet(int depth) {
  std::vector<Layer> layers = {{3, 224, 64, 7, 2, 1}};
  const std::vector<int> repeats =
      depth == 50 ? std::vector<int>{3, 4, 6, 3} : std::vector<int>(4, 2);
  long channels = 64, size = 56;
  for (size_t stage = 0; stage < repeats.size(); ++stage) {
    for (int i = 0; i < repeats[stage]; ++i) {
      const long width = 64L << stage, out = depth == 50 ? width * 4 : width;
      const long stride = stage > 0 && i == 0 ? 2 : 1;
      if (stride != 1 || channels != out) layers.push_back({channels, size, out, 1, stride, 1});
      if (depth == 50) {
        layers.push_back({channels, size, width, 1, 1, 1});
        layers.push_back({width, size, width, 3, stride, 1});
        layers.push_back({width, size / stride, out, 1, 1, 1});
      } else {
        layers.push_back({channels, size, width, 3, stride, 1});
        layers.push_back({width, size / stride, out, 3, 1, 1});
      }
      channels = out;
      size /= stride;
    }
  }
  return layers;
}

std::vector<Layer> mobilenet_v2() {
  struct Stage {
    long expansion, out, repeats, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  std::vector<Layer> layers = {{3, 224, 32, 3, 2, 1}};
  long channels = 32, size = 112;
  for (const Stage& stage : kStages) {
    for (long i = 0; i < stage.repeats; ++i) {
      const long stride = i == 0 ? stage.stride : 1, width = channels * stage.expansion;
      if (stage.expansion != 1) layers.push_back({channels, size, width, 1, 1, 1});
      layers.push_back({width, size, width, 3, stride, width});
      size /= stride;
      layers.push_back({width, size, stage.out, 1, 1, 1});
      channels = stage.out;
    }
  }
  layers.push_back({channels, size, 1280, 1, 1, 1});
  return layers;
}

// One activation buffer is written over and over in turns with another, as an arena would have it.
struct Buffers {
  std::vector<unsigned char> even, odd;
};

struct Step {
  dnnl::convolution_forward convolution;
  std::unordered_map<int, memory> arguments;
  std::string implementation;
  double best_ms = 1e30;
};

dnnl::primitive_attr attributes(const Layer& layer, std::vector<float>& scales) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::library);
  scales.assign(static_cast<size_t>(layer.outputs), 0.001f);
#if DNNL_VERSION_MAJOR >= 3
  const int channel_mask = layer.groups > 1 ? 3 : 1;
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, channel_mask);
#else
  attr.set_output_scales(1 << 1, scales);
#endif
  return attr;
}

dnnl::convolution_forward::primitive_desc describe(const dnnl::engine& engine, const Layer& layer,
                                                   long batch, const dnnl::primitive_attr& attr) {
  using Type = memory::data_type;
  using Tag = memory::format_tag;
  const long out = out_size(layer), pad = padded(layer);
  const memory::desc src({batch, layer.channels, layer.size, layer.size}, Type::u8, Tag::nhwc);
  const memory::desc dst({batch, layer.outputs, out, out}, Type::u8, Tag::nhwc);
  const memory::desc bias({layer.outputs}, Type::s32, Tag::x);
  const Dims dense = {layer.outputs, layer.channels, layer.kernel, layer.kernel};
  const Dims grouped = {layer.groups, layer.outputs / layer.groups, layer.channels / layer.groups,
                        layer.kernel, layer.kernel};
  const memory::desc weights(layer.groups > 1 ? grouped : dense, Type::s8, Tag::any);
  const Dims strides = {layer.stride, layer.stride}, pads = {pad, pad};
#if DNNL_VERSION_MAJOR >= 3
  return {engine,
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          src,
          weights,
          bias,
          dst,
          strides,
          pads,
          pads,
          attr};
#else
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, weights,
           bias, dst, strides, pads, pads},
          attr,
          engine};
#endif
}

memory filled(const memory::desc& desc, const dnnl::engine& engine, int seed) {
  memory result(desc, engine);
  auto* bytes = static_cast<unsigned char*>(result.get_data_handle());
  for (size_t i = 0; i < desc.get_size(); ++i)
    bytes[i] = static_cast<unsigned char>((i * 37 + static_cast<size_t>(seed)) % 11);
  return result;
}

Step make_step(const dnnl::engine& engine, const Layer& layer, long batch, Buffers& buffers,
               bool even) {
  std::vector<float> scales;
  const dnnl::primitive_attr attr = attributes(layer, scales);
  const auto pd = describe(engine, layer, batch, attr);
  Step step{dnnl::convolution_forward(pd), {}, pd.impl_info_str()};
  auto& from = even ? buffers.even : buffers.odd;
  auto& to = even ? buffers.odd : buffers.even;
  step.arguments.emplace(DNNL_ARG_SRC, memory(pd.src_desc(), engine, from.data()));
  step.arguments.emplace(DNNL_ARG_DST, memory(pd.dst_desc(), engine, to.data()));
  step.arguments.emplace(DNNL_ARG_WEIGHTS, filled(pd.weights_desc(), engine, 1));
  step.arguments.emplace(DNNL_ARG_BIAS, filled(pd.bias_desc(), engine, 2));
#if DNNL_VERSION_MAJOR >= 3
  memory held({{layer.outputs}, memory::data_type::f32, memory::format_tag::x}, engine);
  std::memcpy(held.get_data_handle(), scales.data(), scales.size() * sizeof(float));
  step.arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, held);
#endif
  return step;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

size_t largest_activation(const std::vector<Layer>& layers, long batch) {
  long largest = 0;
  for (const Layer& layer : layers) {
    largest = std::max({largest, layer.channels * layer.size * layer.size,
                        layer.outputs * out_size(layer) * out_size(layer)});
  }
  return static_cast<size_t>(largest * batch);
}

struct Totals {
  double best = 1e30;
  std::vector<double> all;
};

Totals run_all(const dnnl::engine& engine, std::vector<Step>& steps, int repetitions) {
  dnnl::stream stream(engine);
  Totals totals;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    for (Step& step : steps) {
      const auto layer_start = std::chrono::steady_clock::now();
      step.convolution.execute(stream, step.arguments);
      stream.wait();
      step.best_ms = std::min(step.best_ms, milliseconds_since(layer_start));
    }
    totals.all.push_back(milliseconds_since(start));
  }
  std::sort(totals.all.begin(), totals.all.end());
  totals.best = totals.all.front();
  return totals;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string network = argc > 1 ? argv[1] : "resnet50";
  const int repetitions = argc > 2 ? std::max(1, std::atoi(argv[2])) : 100;
  const long batch = argc > 3 ? std::max(1L, std::atol(argv[3])) : 1;
  const std::vector<Layer> layers =
      network == "mobilenet_v2" ? mobilenet_v2() : resnet(network == "resnet18" ? 18 : 50);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Buffers buffers;
  buffers.even.assign(largest_activation(layers, batch), 3);
  buffers.odd = buffers.even;
  std::vector<Step> steps;
  for (size_t i = 0; i < layers.size(); ++i) {
    steps.push_back(make_step(engine, layers[i], batch, buffers, i % 2 == 0));
  }
  const Totals totals = run_all(engine, steps, repetitions);
  const dnnl_version_t* version = dnnl_version();
  std::printf("oneDNN %d.%d.%d, %s, batch %ld, %zu convolutions: median %.3f ms, fastest %.3f ms\n",
              version->major, version->minor, version->patch, network.c_str(), batch, layers.size(),
              totals.all[totals.all.size() / 2], totals.best);
  double sum = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    sum += steps[i].best_ms;
    if (argc <= 4) continue;
    const Layer& l = layers[i];
    std::printf("%4ld to %4ld, %3ldx%-3ld %ldx%ld stride %ld %-10s %9.1f us  %s\n", l.channels,
                l.outputs, l.size, l.size, l.kernel, l.kernel, l.stride,
                l.groups > 1 ? "depthwise" : "", 1e3 * steps[i].best_ms,
                steps[i].implementation.c_str());
  }
  std::printf("sum of every layer's fastest run: %.3f ms\n", sum);
  return 0;
}
