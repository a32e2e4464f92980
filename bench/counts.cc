// SPDX-License-Identifier: Apache-2.0
// One layer by one kernel, so often: what bench/counts.py runs in an emulator that counts instructions. A layer of fewer pixels than a real
// one has the same instructions for each of them.
// Usage: kernel_counts KERNEL RUNS CHANNELS OUTPUTS SIZE WINDOW STRIDE GROUPS [residual]
//        kernel_counts f32:NAME RUNS ROWS COUNT   a function of reals or kernel of rows; f32:conv: of COUNT channels, of ROWS pixels
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/depthwise/depthwise.h"
#include "backends/cpu/kernels/float/panel.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/kernels/float/unary.h"

namespace octet {
namespace {

Placement placed(s64 channels, s64 size, s64 border) {
  const s64 row = (size + 2 * border) * channels;
  return {Layout::nhwc, channels, row, (size + 2 * border) * row, border};
}

// Operands of one layer; the input has the border that its windows need.
struct Layer {
  ConvGeometry geometry;
  std::vector<s8> weights;
  std::vector<s32> bias;
  std::vector<f32> multiplier;
  AlignedVector<u8> input, output, residual;
  s64 border;
  s64 runs;
  bool adds;  // a residual

  Layer(s64 times, char** sizes, bool adds_residual) : runs(times), adds(adds_residual) {
    geometry.in_channels = std::atol(sizes[0]);
    geometry.out_channels = std::atol(sizes[1]);
    geometry.groups = std::atol(sizes[5]);
    const s64 size = std::atol(sizes[2]), kernel = std::atol(sizes[3]);
    border = kernel / 2;
    WindowAxis axis;
    axis.in = size;
    axis.kernel = kernel;
    axis.stride = std::atol(sizes[4]);
    axis.pad_begin = axis.pad_end = border;
    axis.out = (size + 2 * border - kernel) / axis.stride + 1;
    geometry.window.axes[1] = geometry.window.axes[2] = axis;
    weights.assign(static_cast<size_t>(geometry.out_channels * depth()), 3);
    bias.assign(static_cast<size_t>(geometry.out_channels), 5);
    multiplier.assign(bias.size(), 0.001f);
    input.assign(static_cast<size_t>(in().image_stride), 77);
    output.resize(static_cast<size_t>(out().image_stride));
    residual.assign(output.size(), 9);
  }

  s64 depth() const { return geometry.in_channels_per_group() * geometry.window.kernel_elements(); }
  Placement in() const { return placed(geometry.in_channels, geometry.window.h().in, border); }
  Placement out() const { return placed(geometry.out_channels, geometry.window.h().out, 0); }
};

template <class Conv, class Kernel, class Spec>
void run(Layer& layer, const Kernel& kernel, Spec spec, s64 workspace_bytes) {
  spec.geometry = layer.geometry;
  spec.bias = layer.bias;
  spec.multiplier = layer.multiplier;
  spec.input_zero_point = 128;
  spec.input = layer.in();
  spec.output = spec.residual = layer.out();
  if (layer.adds) {
    spec.epilogue.residual_multiplier = 0.5f;
    spec.epilogue.residual_zero_point = 128;
  }
  const Conv conv(kernel, spec,
                  std::make_shared<const typename Conv::Packed>(Conv::pack(kernel, spec)));
  AlignedVector<std::byte> workspace(static_cast<size_t>(workspace_bytes));
  ThreadPool pool(1);
  const u8* first =
      layer.input.data() + layer.border * (spec.input.row_stride + spec.input.pixel_stride);
  for (s64 i = 0; i < layer.runs; ++i) {
    conv.run({first, layer.adds ? layer.residual.data() : nullptr, layer.output.data(),
              workspace.data(), pool});
  }
}

// Rows of reals, and what stands beside them.
struct Reals {
  s64 rows, count;
  AlignedVector<f32> x, y, parameters;

  Reals(s64 of, s64 each)
      : rows(of),
        count(each),
        x(static_cast<size_t>(of * each), 0.25f),
        y(static_cast<size_t>(of * std::max<s64>(each, 16))),
        parameters(static_cast<size_t>(16 * each), 0.5f) {}

  // Sixteen outputs of each pixel.
  void multiply() {
    const long run = 0;
    PanelArgs args{};
    args.src = x.data();
    args.src_step = count;
    args.runs = &run;
    args.run_count = 1;
    args.run_length = count;
    args.weights = args.bias = parameters.data();
    args.dst = y.data();
    args.dst_step = args.channels = 16;
    args.count = rows;
    args.end = {true, -1.0f, 1.0f, 1.0f, 0};
    panel_neon(&args);
  }
  void run_row(const FloatKernel<RowArgs>& kernel) {
    const RowArgs args{x.data(),          y.data(), count, parameters.data(),
                       parameters.data(), 1e-5f,    rows};
    kernel.neon(&args);
  }
  // Whether there is such a kernel.
  bool run(std::string_view name) {
    if (name == "conv") return multiply(), true;
    if (name == "softmax") return run_row(kSoftmaxF32), true;
    if (name == "layer_norm") return run_row(kLayerNormF32), true;
    for (const UnaryKernel& kernel : kUnaryKernels) {
      if (name != kernel.name) continue;
      const UnaryArgs args{.src = x.data(), .dst = y.data(), .count = rows * count};
      return kernel.neon(&args), true;
    }
    return false;
  }
};

int count_reals(std::string_view name, char** sizes) {
  Reals reals(std::atol(sizes[1]), std::atol(sizes[2]));
  for (s64 i = 0; i < std::atol(sizes[0]); ++i) {
    if (!reals.run(name)) return 1;
  }
  return 0;
}

int count(int argc, char** argv) {
  constexpr std::string_view kReals = "f32:";
  if (argc == 5 && std::string_view(argv[1]).starts_with(kReals))
    return count_reals(argv[1] + kReals.size(), argv + 2);
  if (argc < 9) return 2;
  const std::string_view name = argv[1];
  Layer layer(std::atol(argv[2]), argv + 3, argc > 9);
  for (const ConvKernel& kernel : kConvKernels) {
    if (name != kernel.name || !hardware_has(kernel.isa)) continue;
    ConvSpec spec;
    spec.weights = {layer.weights, layer.depth(), 1};
    run<DenseConv>(layer, kernel, spec, conv_workspace_bytes(kernel, layer.geometry, 1));
    return 0;
  }
  for (const DepthwiseKernel& kernel : kDepthwiseKernels) {
    if (name != kernel.name || !hardware_has(kernel.isa)) continue;
    DepthwiseSpec spec;
    spec.weights.narrow = layer.weights;
    run<DepthwiseConv>(layer, kernel, spec, depthwise_workspace_bytes(kernel, layer.geometry, 1));
    return 0;
  }
  fmt::print(stderr, "no kernel of this processor is called {}\n", name);
  return 1;
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) { return octet::count(argc, argv); }
