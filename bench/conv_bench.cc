// SPDX-License-Identifier: Apache-2.0
// Speed of the integer convolution kernels on the layers of real classifiers, one thread: GMAC/s, and how many times the
// floor of its unit the fastest run took (bench/results/2026-11.md says what the floors are).
// Usage: conv_bench [repetitions] [part of a layer's name]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "backends/cpu/kernels/codes/aligned.h"
#include "backends/cpu/kernels/codes/conv/tile_conv.h"
#include "backends/cpu/kernels/codes/conv/tile_merge.h"
#include "backends/cpu/kernels/codes/depthwise/depthwise.h"

namespace octet {
namespace {

// GMAC/s of one core at 3.5 to 3.9 GHz.
constexpr f64 peak(Isa isa) {
  return isa == Isa::amx ? 3500.0 : isa == Isa::vnni ? 500.0 : isa == Isa::avx_vnni ? 250.0 : 90.0;
}
constexpr Isa kLevels[] = {Isa::vnni, Isa::avx_vnni, Isa::avx2};

struct Layer {
  const char* name;
  s64 channels, size, outputs, kernel, stride, groups = 1;
};

constexpr Layer kLayers[] = {
    {"resnet50 stem", 3, 224, 64, 7, 2},
    {"resnet50 res2 1x1", 64, 56, 64, 1, 1},
    {"resnet50 res2 3x3", 64, 56, 64, 3, 1},
    {"resnet50 res2 expand", 64, 56, 256, 1, 1},
    {"resnet50 res2 shrink", 256, 56, 64, 1, 1},
    {"resnet50 res3 shrink", 512, 28, 128, 1, 1},
    {"resnet50 res3 s2", 128, 56, 128, 3, 2},
    {"resnet50 res3 3x3", 128, 28, 128, 3, 1},
    {"resnet50 res3 expand", 128, 28, 512, 1, 1},
    {"resnet50 res4 3x3", 256, 14, 256, 3, 1},
    {"resnet50 res4 reduce", 1024, 14, 256, 1, 1},
    {"resnet50 res5 3x3", 512, 7, 512, 3, 1},
    {"resnet50 res5 reduce", 2048, 7, 512, 1, 1},
    {"retinaface stem", 3, 640, 8, 3, 2},
    {"retinaface 1x1 8", 8, 320, 16, 1, 1},
    {"mobilenet2 stem", 3, 224, 32, 3, 2},
    {"mobilenet2 16 to 96", 16, 112, 96, 1, 1},
    {"cifar resnet20", 16, 32, 16, 3, 1},
    {"mobilenet2 expand", 24, 56, 144, 1, 1},
    {"mobilenet2 dw 56", 144, 56, 144, 3, 1, 144},
    {"mobilenet2 dw 112 s2", 96, 112, 96, 3, 2, 96},
    {"mobilenet2 dw 14", 576, 14, 576, 3, 1, 576},
    {"mobilenet2 dw 5x5", 240, 28, 240, 5, 1, 240},
};

ConvGeometry geometry_of(const Layer& layer) {
  ConvGeometry geometry;
  geometry.groups = layer.groups;
  geometry.in_channels = layer.channels;
  geometry.out_channels = layer.outputs;
  const s64 pad = layer.kernel / 2;
  const WindowAxis axis{.in = layer.size,
                        .out = (layer.size + 2 * pad - layer.kernel) / layer.stride + 1,
                        .kernel = layer.kernel,
                        .stride = layer.stride,
                        .dilation = 1,
                        .pad_begin = pad,
                        .pad_end = pad};
  geometry.window.axes[1] = geometry.window.axes[2] = axis;
  return geometry;
}

Placement placed(s64 channels, s64 size, s64 border) {
  const s64 row = (size + 2 * border) * channels;
  return {Layout::nhwc, channels, row, (size + 2 * border) * row, border};
}

// Milliseconds of the fastest of `repetitions` runs.
f64 fastest(int repetitions, const std::function<void()>& run) {
  f64 best = 1e30;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<f64, std::milli> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

// Operands of one layer, with or without the border that saves the copy of rows.
struct Operands {
  ConvGeometry geometry;
  std::vector<s8> weights;
  std::vector<s32> bias;
  std::vector<f32> multiplier;
  AlignedVector<u8> input, output;
  Placement input_placement, output_placement;

  Operands(const Layer& layer, s64 border)
      : geometry(geometry_of(layer)),
        weights(static_cast<size_t>(layer.outputs * layer.channels / layer.groups * layer.kernel *
                                    layer.kernel)),
        bias(static_cast<size_t>(layer.outputs), 5),
        multiplier(bias.size(), 0.001f),
        input_placement(placed(layer.channels, layer.size, border)),
        output_placement(placed(layer.outputs, geometry.window.h().out, 0)) {
    input.assign(static_cast<size_t>(input_placement.image_stride), 77);
    output.resize(static_cast<size_t>(output_placement.image_stride));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<s8>(i * 37 % 255 - 127);
  }

  const u8* pixels() const {
    return input.data() +
           input_placement.border * (input_placement.row_stride + input_placement.pixel_stride);
  }
  f64 macs() const {
    return static_cast<f64>(weights.size()) * static_cast<f64>(geometry.window.out_elements());
  }
};

template <class Conv, class Spec, class Kernel>
void measure(const Layer& layer, const Kernel& kernel, s64 workspace_bytes, s64 border,
             int repetitions) {
  Operands o(layer, border);
  Spec spec;
  spec.geometry = o.geometry;
  if constexpr (std::is_same_v<Spec, ConvSpec>) {
    spec.weights = {o.weights, static_cast<s64>(o.weights.size()) / layer.outputs, 1};
  } else {
    spec.weights.narrow = o.weights;
  }
  spec.bias = o.bias;
  spec.multiplier = o.multiplier;
  spec.input = o.input_placement;
  spec.output = o.output_placement;
  const auto conv = [&] {
    const auto packed_for = [&](const Spec& s) {
      return std::make_shared<const typename Conv::Packed>(Conv::pack(kernel, s));
    };
    if constexpr (std::is_same_v<Conv, TileConv>) {
      const MergedConv merged(spec, TileConstants::turned);
      return Conv(kernel, merged.spec(), packed_for(merged.spec()));
    } else {
      return Conv(kernel, spec, packed_for(spec));
    }
  }();
  AlignedVector<std::byte> workspace(static_cast<size_t>(workspace_bytes));
  ThreadPool pool(1);
  const f64 ms = fastest(repetitions, [&] {
    conv.run({o.pixels(), nullptr, o.output.data(), workspace.data(), pool});
  });
  const f64 rate = o.macs() / ms / 1e6;
  fmt::print("{:22} {:24} border {} {:8.4f} ms {:7.1f} GMAC/s {:5.1f} x floor\n", layer.name,
             kernel.name, border, ms, rate, peak(kernel.isa) / rate);
}

void measure_all(int repetitions, std::string_view part) {
  for (const Layer& layer : kLayers) {
    if (std::string_view(layer.name).find(part) == std::string_view::npos) continue;
    const ConvGeometry geometry = geometry_of(layer);
    for (s64 border : {window_border(geometry.window), s64{0}}) {
      if (layer.groups == 1) {
        if (hardware_isa().has(Isa::amx) && tile_conv_reject(geometry, Isa::amx) == nullptr) {
          measure<TileConv, ConvSpec>(layer, kTileKernels[0],
                                      tile_conv_workspace_bytes(geometry, 1), border, repetitions);
        }
        for (Isa isa : kLevels) {
          if (!hardware_has(isa)) continue;
          const ConvKernel& kernel = best_kernel(kConstantConvKernels, isa);
          measure<DenseConv, ConvSpec>(layer, kernel, conv_workspace_bytes(kernel, geometry, 1),
                                       border, repetitions);
        }
      } else {
        for (const DepthwiseKernel& kernel : kDepthwiseKernels) {
          if (kernel.isa == Isa::none || !hardware_has(kernel.isa)) continue;
          measure<DepthwiseConv, DepthwiseSpec>(
              layer, kernel, depthwise_workspace_bytes(kernel, geometry, 1), border, repetitions);
        }
      }
      if (border == 0) break;
    }
  }
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  octet::measure_all(argc > 1 ? std::max(1, std::atoi(argv[1])) : 50, argc > 2 ? argv[2] : "");
  return 0;
}
