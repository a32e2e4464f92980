// SPDX-License-Identifier: Apache-2.0
// Every row of the tables of kernels that this processor runs against the table's last, which is plain: the same bytes. The suites of
// backends/cpu/lower compare with the operators' definitions, at the edges of everything; this one needs nothing but the kernels, so
// that it is compiled and run in a minute where processors are emulated (tools/aarch64.sh).
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "backends/cpu/kernels/codes/conv/conv.h"
#include "backends/cpu/kernels/codes/depthwise/depthwise.h"
#include "backends/cpu/kernels/codes/eltwise/eltwise.h"
#include "backends/cpu/kernels/codes/matmul/matmul.h"
#include "backends/cpu/kernels/codes/norm/norm.h"
#include "backends/cpu/kernels/codes/pool/pool.h"
#include "backends/cpu/kernels/codes/quantize/quantize.h"
#include "backends/cpu/kernels/codes/table/table.h"

namespace octet {
namespace {

template <class T>
std::vector<T> random_values(s64 count, u32 seed, s32 least, s32 most) {
  std::mt19937 random(seed);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values)
    value = static_cast<T>(least + static_cast<s32>(random() % static_cast<u32>(most - least + 1)));
  return values;
}

std::vector<f32> multipliers(s64 count, f32 size) {
  std::vector<f32> values = random_values<f32>(count, 7, 500, 1500);
  for (f32& value : values) value *= size / 1000.0f;
  return values;
}

const std::vector<u8>& some_table() {
  static const std::vector<u8> table = random_values<u8>(256, 9, 0, 255);
  return table;
}

// Lines as EpilogueArgs has them; all but some begin and end near codes.
const std::vector<u8>& some_lines() {
  static const std::vector<u8> lines = [] {
    std::vector<u8> bytes(256);
    const auto bases = random_values<s32>(64, 10, -400, 300 * 64);
    const auto slopes = random_values<s32>(64, 11, -9000, 9000);
    for (size_t i = 0; i < 64; ++i) {
      const s32 base = i % 16 == 3 ? (i < 32 ? -24575 : 24575) : bases[i];
      const s32 slope = i % 16 == 3 ? (i < 20 ? -32768 : 32767) : slopes[i];
      for (size_t part = 0; part < 4; ++part)
        bytes[part * 64 + i] = static_cast<u8>((part < 2 ? base : slope) >> (part % 2 * 8));
    }
    return bytes;
  }();
  return lines;
}

// What may stand behind a sum; those with a residual begin at kResidual.
std::vector<EpilogueArgs> epilogues() {
  EpilogueArgs codes;
  codes.zero_point = 100;
  codes.lo = 10;
  codes.hi = 240;
  EpilogueArgs table = codes, leaky = codes, real = codes, residual = codes;
  table.table = some_table().data();
  leaky.leaky = true;
  leaky.alpha = 0.3f;
  real.real = real.clip = true;
  real.min = -2.5f;
  real.max = 3.0f;
  residual.residual_multiplier = 0.7f;
  residual.residual_zero_point = 120;
  EpilogueArgs sum = residual;
  sum.sums = true;
  sum.sum.own_multiplier = 0.6f;
  sum.sum.own_zero_point = 100;
  sum.sum.zero_point = 90;
  EpilogueArgs sum_by_table = sum;
  sum_by_table.table = some_table().data();
  sum_by_table.sum.residual_first = true;
  const auto of_lines = [](EpilogueArgs e) {
    e.fine = true;
    e.table = some_lines().data();
    e.zero_point = 30000;
    return e;
  };
  const EpilogueArgs fine = of_lines(codes), fine_leaky = of_lines(leaky),
                     fine_residual = of_lines(residual), sum_by_lines = of_lines(sum);
  return {codes,    table, leaky,        fine,          fine_leaky,  real,
          residual, sum,   sum_by_table, fine_residual, sum_by_lines};
}
constexpr size_t kResidual = 6;

Placement placed(s64 channels, s64 height, s64 width) {
  return {Layout::nhwc, channels, width * channels, height * width * channels, 0};
}

struct Image {
  s64 channels, outputs, size, kernel, stride, groups;

  ConvGeometry geometry() const {
    ConvGeometry g;
    g.batch = 2;
    g.groups = groups;
    g.in_channels = channels;
    g.out_channels = outputs;
    const s64 pad = kernel / 2;
    g.window.axes[1] = {
        .in = size, .kernel = kernel, .stride = stride, .pad_begin = pad, .pad_end = pad};
    g.window.axes[1].out = (size + 2 * pad - kernel) / stride + 1;
    g.window.axes[2] = g.window.axes[1];
    return g;
  }
};

// Operands of a convolution, and what it makes of them.
struct Case {
  ConvGeometry geometry;
  std::vector<u8> x, residual, y;
  std::vector<s32> bias;
  std::vector<f32> multiplier;

  Case(const Image& image, f32 size)
      : geometry(image.geometry()),
        x(random_values<u8>(2 * image.size * image.size * image.channels, 1, 0, 255)),
        residual(random_values<u8>(outputs(), 2, 0, 255)),
        y(static_cast<size_t>(4 * outputs())),
        bias(random_values<s32>(image.outputs, 3, -3000, 3000)),
        multiplier(multipliers(image.outputs, size)) {}

  s64 outputs() const {
    return geometry.batch * geometry.window.out_elements() * geometry.out_channels;
  }

  template <class Conv, class Kernel, class Spec>
  std::vector<u8> run(const Kernel& kernel, Spec spec, s64 workspace_bytes) {
    const WindowAxis& axis = geometry.window.h();
    spec.geometry = geometry;
    spec.bias = bias;
    spec.multiplier = multiplier;
    spec.input_zero_point = 117;
    spec.input = placed(geometry.in_channels, axis.in, axis.in);
    spec.output = spec.residual = placed(geometry.out_channels, axis.out, axis.out);
    const Conv conv(kernel, spec,
                    std::make_shared<const typename Conv::Packed>(Conv::pack(kernel, spec)));
    AlignedVector<std::byte> workspace(static_cast<size_t>(workspace_bytes));
    ThreadPool pool(1);
    std::fill(y.begin(), y.end(), u8{0});
    const bool adds = spec.epilogue.residual_multiplier != 0.0f;
    conv.run({x.data(), adds ? residual.data() : nullptr, y.data(), workspace.data(), pool});
    return y;
  }
};

constexpr Image kImages[] = {{5, 3, 5, 3, 1, 1},    {16, 17, 4, 1, 1, 1}, {24, 40, 5, 3, 2, 1},
                             {3, 33, 6, 3, 2, 1},   {68, 16, 3, 1, 1, 1}, {12, 18, 4, 3, 1, 3},
                             {130, 65, 3, 3, 1, 1}, {7, 100, 3, 5, 1, 1}};

TEST(KernelLevels, Convolutions) {
  for (const Image& image : kImages) {
    // A large multiplier passes all bounds, as no code of a real network does.
    for (const f32 size : {0.002f, 5e6f}) {
      Case c(image, size);
      const s64 depth = image.channels / image.groups * image.kernel * image.kernel;
      const auto weights = random_values<s8>(image.outputs * depth, 4, -128, 127);
      for (const EpilogueArgs& epilogue : epilogues()) {
        ConvSpec spec;
        spec.weights = {weights, depth, 1};
        spec.epilogue = epilogue;
        std::vector<u8> want;
        for (const std::span<const ConvKernel> rows :
             {std::span<const ConvKernel>(kConvKernels),
              std::span<const ConvKernel>(kConstantConvKernels)}) {
          for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
            if (!hardware_has(row->isa)) continue;
            const auto got =
                c.run<DenseConv>(*row, spec, conv_workspace_bytes(*row, c.geometry, 1));
            if (want.empty()) want = got;
            ASSERT_EQ(got, want) << row->name << ", channels " << image.channels << " to "
                                 << image.outputs;
          }
        }
      }
    }
  }
}

TEST(KernelLevels, DepthwiseConvolutions) {
  for (const Image& image : {Image{21, 21, 6, 3, 1, 21}, Image{16, 16, 9, 5, 2, 16},
                             Image{40, 40, 7, 3, 2, 40}, Image{8, 8, 19, 3, 1, 8}}) {
    Case c(image, 0.01f);
    const s64 elements = image.channels * image.kernel * image.kernel;
    const auto narrow = random_values<s8>(elements, 4, -128, 127);
    const auto wide = random_values<s16>(elements, 5, -256, 254);
    for (size_t e = 0; e <= kResidual; ++e) {
      for (const bool is_wide : {false, true}) {
        DepthwiseSpec spec;
        if (is_wide)
          spec.weights.wide = wide;
        else
          spec.weights.narrow = narrow;
        spec.epilogue = epilogues()[e];
        std::vector<u8> want;
        for (auto row = std::rbegin(kDepthwiseKernels); row != std::rend(kDepthwiseKernels);
             ++row) {
          if (!hardware_has(row->isa)) continue;
          const auto got =
              c.run<DepthwiseConv>(*row, spec, depthwise_workspace_bytes(*row, c.geometry, 1));
          if (want.empty()) want = got;
          ASSERT_EQ(got, want) << row->name << ", channels " << image.channels;
        }
      }
    }
  }
}

TEST(KernelLevels, ProductsOfTwoActivations) {
  for (const auto& [m, k, n] : {std::array<s64, 3>{7, 9, 5}, {13, 64, 33}, {1, 4, 16}}) {
    MatmulSpec spec;
    spec.views.geometry.m = m;
    spec.views.geometry.k = k;
    spec.views.geometry.n = n;
    spec.views.a_row = k;
    spec.views.a_k = spec.views.b_n = spec.views.y_n = 1;
    spec.views.b_k = spec.views.y_row = n;
    spec.zero_a = 30;
    spec.zero_b = 200;
    const auto bias = random_values<s32>(n, 3, -3000, 3000);
    const auto multiplier = multipliers(n, 0.001f);
    spec.bias = bias;
    spec.multiplier = multiplier;
    spec.epilogue = epilogues()[0];
    const auto a = random_values<u8>(m * k, 1, 0, 255), b = random_values<u8>(k * n, 2, 0, 255);
    std::vector<u8> want;
    for (auto row = std::rbegin(kConvKernels); row != std::rend(kConvKernels); ++row) {
      if (!hardware_has(row->isa)) continue;
      const BatchedMatmul product(*row, spec);
      AlignedVector<std::byte> workspace(static_cast<size_t>(product.workspace_bytes(1)));
      std::vector<u8> got(static_cast<size_t>(m * n));
      ThreadPool pool(1);
      product.run({a.data(), b.data(), nullptr, got.data(), workspace.data(), pool});
      if (want.empty()) want = got;
      ASSERT_EQ(got, want) << row->name << " " << m << "x" << k << "x" << n;
    }
  }
}

constexpr s64 kLengths[] = {1, 7, 8, 15, 16, 17, 31, 64, 100};

template <class Row, size_t kRows, class Run>
void expect_same(const Row (&rows)[kRows], const Run& run) {
  for (const s64 count : kLengths) {
    const std::vector<u8> want = run(rows[kRows - 1], count);
    for (const Row& row : rows) {
      if (hardware_has(row.isa)) {
        ASSERT_EQ(run(row, count), want) << row.name << " " << count;
      }
    }
  }
}

TEST(KernelLevels, Elementwise) {
  const auto a = random_values<u8>(100, 1, 0, 255), b = random_values<u8>(100, 2, 0, 255);
  for (size_t e = 0; e < 3; ++e) {
    const BinaryArgs args{120, 60, 0.7f, 0.4f, epilogues()[e]};
    for (const bool stands : {false, true}) {
      const auto run = [&](const BinaryKernel& kernel, s64 count) {
        std::vector<u8> y(static_cast<size_t>(count));
        kernel.run({a.data(), b.data(), y.data(), count, false, stands, &args});
        return y;
      };
      expect_same(kAddKernels, run);
      expect_same(kMulKernels, run);
      expect_same(kMinKernels, run);
    }
  }
  expect_same(kTableKernels, [&](const TableKernel& kernel, s64 count) {
    std::vector<u8> y(static_cast<size_t>(count));
    kernel.run({a.data(), y.data(), count, some_table().data()});
    return y;
  });
}

TEST(KernelLevels, Pools) {
  const auto x = random_values<u8>(3 * 100 * 100, 1, 0, 255);
  const EpilogueArgs epilogue = epilogues()[1];
  const auto run = [&](const PoolKernel& kernel, s64 channels) {
    std::vector<u8> y(static_cast<size_t>(channels));
    kernel.run({x.data(), 3, 100, 100 * channels, channels, channels, y.data(), 1, 0, 0,
                3 * 100 * 90, 0.003f, &epilogue});
    return y;
  };
  expect_same(kMaxPoolKernels, run);
  expect_same(kAveragePoolKernels, run);
}

TEST(KernelLevels, QuantizeAndBack) {
  std::vector<f32> x = random_values<f32>(100, 1, -4000, 4000);
  for (f32& value : x) value *= 0.01f;
  x[3] = std::numeric_limits<f32>::quiet_NaN();
  x[5] = std::numeric_limits<f32>::infinity();
  x[6] = -x[5];
  for (const NearQuotient near : {NearQuotient{}, near_quotient(0.11f, 40)}) {
    expect_same(kQuantizeKernels, [&](const QuantizeKernel& kernel, s64 count) {
      std::vector<u8> y(static_cast<size_t>(count));
      kernel.run({x.data(), y.data(), count, 0.11f, 40, near});
      return y;
    });
  }
  const auto codes = random_values<u8>(300, 2, 0, 255);
  expect_same(kDequantizeKernels, [&](const DequantizeKernel& kernel, s64 count) {
    std::vector<u8> y(static_cast<size_t>(4 * count));
    kernel.run({codes.data(), reinterpret_cast<f32*>(y.data()), count, 0.37f, 99});
    return y;
  });
  expect_same(kQuantizeKernels, [&](const QuantizeKernel& kernel, s64 count) {
    std::vector<u8> y(static_cast<size_t>(3 * count));
    kernel.interleave3({codes.data(), 100, y.data(), count});
    return y;
  });
}

TEST(KernelLevels, InstanceNormalization) {
  const auto x = random_values<u8>(50 * 100, 1, 0, 255);
  const std::vector<f32> slope = multipliers(128, 0.9f), offset = multipliers(128, -40.0f);
  const EpilogueArgs epilogue = epilogues()[0];
  expect_same(kInstanceNormKernels, [&](const NormKernel& kernel, s64 channels) {
    std::vector<s64> sums(static_cast<size_t>(2 * channels), 5);
    kernel.sums({x.data(), channels, 50, channels, sums.data(), sums.data() + channels});
    std::vector<u8> y(static_cast<size_t>(50 * channels));
    kernel.lines({x.data(), channels, y.data(), channels, 50, channels, slope.data(), offset.data(),
                  &epilogue});
    const size_t bytes = sums.size() * sizeof(s64);
    y.resize(y.size() + bytes);
    std::memcpy(y.data() + y.size() - bytes, sums.data(), bytes);
    return y;
  });
}

}  // namespace
}  // namespace octet
