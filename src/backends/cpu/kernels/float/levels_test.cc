// SPDX-License-Identifier: Apache-2.0
// Kernels of f32 of every level that this processor runs against the same operations in plain code, to the bit. As codes/levels_test.cc it
// needs nothing but the kernels, for emulated processors; the tests of backends/cpu/lower compare with the operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/isa.h"
#include "backends/cpu/kernels/float/binary.h"
#include "backends/cpu/kernels/float/depthwise.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/kernels/float/taps.h"
#include "backends/cpu/kernels/float/unary.h"
#include "core/math.h"
#include "core/reduce.h"
#include "core/types.h"

namespace octet {
namespace {

struct DepthwiseLevel {
  Isa isa;
  void (*exact)(const DepthwiseF32Args*);
  void (*taps)(const TapsArgs*);
  void (*rows)(const TapRowsArgs*);
};

const DepthwiseLevel kDepthwiseLevels[] = {
    {Isa::avx2, depthwise_f32_avx2, depthwise_taps_avx2, depthwise_rows_avx2},
    {Isa::vnni, depthwise_f32_vnni, depthwise_taps_vnni, depthwise_rows_vnni},
    {Isa::neon, depthwise_f32_neon, depthwise_taps_neon, depthwise_rows_neon},
};

std::vector<f32> random_reals(s64 count, u32 seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<f32> uniform(-2.0f, 2.0f);
  std::vector<f32> values(static_cast<size_t>(count));
  for (f32& value : values) value = uniform(random);
  return values;
}

// What becomes of a sum: bounds, or a slope below zero.
struct PlainEnd {
  bool clamps;
  f32 min, max, alpha;

  f32 operator()(f32 y) const {
    if (!clamps) return y < 0.0f ? y * alpha : y;
    const f32 least = min > y ? min : y;  // NaN passes
    return max < least ? max : least;
  }
};

const PlainEnd kPlainEnds[] = {
    {true, -0.5f, 1.5f, 1.0f},
    {false, -std::numeric_limits<f32>::infinity(), std::numeric_limits<f32>::infinity(), 0.25f},
    {false, -std::numeric_limits<f32>::infinity(), std::numeric_limits<f32>::infinity(), 1.0f}};

// Two rows of `count` pixels of a 3x3 window over four rows of count + 2.
struct DepthwiseMaps {
  s64 count, channels;
  std::vector<f32> x, weights, bias;

  DepthwiseMaps(s64 pixels, s64 each)
      : count(pixels),
        channels(each),
        x(random_reals(4 * (pixels + 2) * each, 1)),
        weights(random_reals(9 * each, 2)),
        bias(random_reals(each, 3)) {
    x[0] = std::numeric_limits<f32>::quiet_NaN();
    x[x.size() / 2] = std::numeric_limits<f32>::infinity();
  }
  s64 row() const { return (count + 2) * channels; }
  f32 value(s64 y, s64 p, s64 c) const {
    return x[static_cast<size_t>(y * row() + p * channels + c)];
  }
  f32 product(int t, s64 y, s64 p, s64 c) const {
    return value(y + t / 3, p + t % 3, c) * weights[static_cast<size_t>(t * channels + c)];
  }
  // ops/shared/dot.h: sixteen lanes, folded by halves.
  f32 exact(s64 p, s64 c) const {
    f32 lanes[16] = {};
    for (int t = 0; t < 9; ++t) lanes[t] += product(t, 0, p, c);
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    return lanes[0] + bias[static_cast<size_t>(c)];
  }
  // One multiply-add for each tap, in their order.
  f32 chain(s64 y, s64 p, s64 c) const {
    f32 sum = bias[static_cast<size_t>(c)];
    for (int t = 0; t < 9; ++t)
      sum = std::fma(value(y + t / 3, p + t % 3, c), weights[static_cast<size_t>(t * channels + c)],
                     sum);
    return sum;
  }
};

template <class F>
void expect_plain(const std::vector<f32>& got, const DepthwiseMaps& maps, s64 rows, const F& want) {
  for (s64 i = 0; i < rows * maps.count * maps.channels; ++i) {
    const s64 c = i % maps.channels, p = i / maps.channels % maps.count;
    const f32 value = want(i / maps.channels / maps.count, p, c);
    const f32 other = got[static_cast<size_t>(i)];
    const bool same = std::bit_cast<u32>(value) == std::bit_cast<u32>(other);
    ASSERT_TRUE(same || (std::isnan(value) && std::isnan(other)))
        << "pixel " << p << ", channel " << c << " of " << maps.channels << ": " << other
        << " instead of " << value;
  }
}

void check_exact(const DepthwiseLevel& level, const DepthwiseMaps& maps, const PlainEnd& end) {
  std::vector<f32> got(static_cast<size_t>(maps.count * maps.channels));
  DepthwiseF32Args args{};
  for (int t = 0; t < 9; ++t) {
    args.taps[t] = maps.x.data() + t / 3 * maps.row() + t % 3 * maps.channels;
    args.steps[t] = maps.channels;
  }
  args.weights = maps.weights.data();
  args.bias = maps.bias.data();
  args.dst = got.data();
  args.count = maps.count;
  args.channels = maps.channels;
  args.clamps = end.clamps;
  args.min = end.min;
  args.max = end.max;
  args.alpha = end.alpha;
  level.exact(&args);
  expect_plain(got, maps, 1, [&](s64, s64 p, s64 c) { return end(maps.exact(p, c)); });
}

SumEndArgs sum_end_args(const PlainEnd& end) {
  SumEndArgs args{};
  args.clamps = end.clamps;
  args.min = end.min;
  args.max = end.max;
  args.alpha = end.alpha;
  return args;
}

void check_taps(const DepthwiseLevel& level, const DepthwiseMaps& maps, const PlainEnd& end) {
  std::vector<f32> got(static_cast<size_t>(maps.count * maps.channels));
  TapsArgs args{};
  const void* taps[9];
  const f32* weights[9];
  for (int t = 0; t < 9; ++t) {
    taps[t] = maps.x.data() + t / 3 * maps.row() + t % 3 * maps.channels;
    weights[t] = maps.weights.data() + t * maps.channels;
  }
  args.taps = taps;
  args.weights = weights;
  args.tap_count = 9;
  args.step = maps.channels;
  args.bias = maps.bias.data();
  args.dst = got.data();
  args.count = maps.count;
  args.channels = maps.channels;
  args.end = sum_end_args(end);
  level.taps(&args);
  expect_plain(got, maps, 1, [&](s64, s64 p, s64 c) { return end(maps.chain(0, p, c)); });
}

void check_rows(const DepthwiseLevel& level, const DepthwiseMaps& maps, const PlainEnd& end) {
  std::vector<f32> got(static_cast<size_t>(2 * maps.count * maps.channels));
  TapRowsArgs args{};
  args.src = maps.x.data();
  args.src_row = maps.row();
  args.weights = maps.weights.data();
  args.bias = maps.bias.data();
  args.dst = got.data();
  args.dst_row = maps.count * maps.channels;
  args.count = maps.count;
  args.channels = maps.channels;
  args.end = sum_end_args(end);
  level.rows(&args);
  expect_plain(got, maps, 2, [&](s64 y, s64 p, s64 c) { return end(maps.chain(y, p, c)); });
}

TEST(KernelLevels, DepthwiseConvolutionsOfReals) {
  for (const DepthwiseLevel& level : kDepthwiseLevels) {
    if (!hardware_has(level.isa)) continue;
    for (const s64 channels : {1, 7, 8, 9, 16, 33}) {
      for (const s64 count : {1, 4, 5, 13}) {
        const DepthwiseMaps maps(count, channels);
        for (const PlainEnd& end : kPlainEnds) {
          check_exact(level, maps, end);
          check_taps(level, maps, end);
          check_rows(level, maps, end);
        }
      }
    }
  }
}

// Of a test of vectors' kernels: elsewhere it is skipped.
#define NEEDS_VECTORS()                                     \
  if (!hardware_has(Isa::avx2) && !hardware_has(Isa::neon)) \
  GTEST_SKIP() << "this processor has no vectors"

// Of a table's row, the functions that this processor runs.
template <class Kernel>
auto functions_of(const Kernel& kernel) {
  std::vector<decltype(kernel.avx2)> functions;
  if (hardware_has(Isa::avx2)) functions.push_back(kernel.avx2);
  if (hardware_has(Isa::vnni)) functions.push_back(kernel.vnni);
  if (hardware_has(Isa::neon)) functions.push_back(kernel.neon);
  return functions;
}

void expect_same(const std::vector<f32>& got, const std::vector<f32>& want,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = std::bit_cast<u32>(got[i]) == std::bit_cast<u32>(want[i]);
    ASSERT_TRUE(same || (std::isnan(got[i]) && std::isnan(want[i])))
        << what << " at " << i << ": " << got[i] << " instead of " << want[i];
  }
}

// Every exponent, and what is no number.
std::vector<f32> awkward_reals(s64 count) {
  std::vector<f32> values = random_reals(count, 11);
  const f32 inf = std::numeric_limits<f32>::infinity();
  const f32 odd[] = {0.0f,      -0.0f,      inf,   -inf,    std::numeric_limits<f32>::quiet_NaN(),
                     0x1p-140f, -0x1p-130f, 88.8f, -104.0f, 0.5f,
                     2.5f,      -1e30f};
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 3 == 1) values[i] = odd[i / 3 % std::size(odd)];
    if (i % 3 == 2) values[i] = std::ldexp(values[i], static_cast<int>(i % 37) - 18);
  }
  return values;
}

struct PlainFunction {
  std::string_view name;
  f32 (*of)(f32 x);
};

const PlainFunction kPlainFunctions[] = {
    {"abs", [](f32 x) { return std::fabs(x); }},
    {"ceil", [](f32 x) { return std::ceil(x); }},
    {"erf", math_erf},
    {"exp", math_exp},
    {"floor", [](f32 x) { return std::floor(x); }},
    {"gelu", math_gelu},
    {"gelu_tanh", math_gelu_tanh},
    {"hard_swish", math_hard_swish},
    {"log", math_log},
    {"neg", [](f32 x) { return -x; }},
    {"reciprocal", [](f32 x) { return 1.0f / x; }},
    {"relu", [](f32 x) { return 0.0f > x ? 0.0f : x; }},
    {"round", [](f32 x) { return std::nearbyint(x); }},
    {"sigmoid", math_sigmoid},
    {"sqrt", [](f32 x) { return std::sqrt(x); }},
    {"square", [](f32 x) { return x * x; }},
    {"tanh", math_tanh},
};

TEST(KernelLevels, FunctionsOfReals) {
  NEEDS_VECTORS();
  size_t found = 0;
  for (const UnaryKernel& kernel : kUnaryKernels) {
    const auto* const plain =
        std::ranges::find(kPlainFunctions, std::string_view(kernel.name), &PlainFunction::name);
    if (plain == std::end(kPlainFunctions)) continue;
    ++found;
    for (const s64 count : {1, 7, 8, 9, 31, 2000}) {
      const std::vector<f32> x = awkward_reals(count);
      std::vector<f32> want(x.size());
      std::ranges::transform(x, want.begin(), plain->of);
      for (const UnaryFunction function : functions_of(kernel)) {
        std::vector<f32> got(x.size());
        const UnaryArgs args{.src = x.data(), .dst = got.data(), .count = count};
        function(&args);
        expect_same(got, want, kernel.name);
      }
    }
  }
  EXPECT_EQ(found, std::size(kPlainFunctions));
}

TEST(KernelLevels, FunctionsOfTwoReals) {
  NEEDS_VECTORS();
  for (const BinaryKernel& kernel : kBinaryKernels) {
    const std::string_view name = kernel.name;
    if (name != "add" && name != "sub" && name != "mul" && name != "div") continue;
    const auto plain = [&](f32 x, f32 y) {
      return name == "add" ? x + y : name == "sub" ? x - y : name == "mul" ? x * y : x / y;
    };
    for (const s64 count : {1, 8, 13, 40}) {
      const std::vector<f32> x = awkward_reals(count), y = random_reals(count, 3);
      for (const long step : {0, 1}) {
        std::vector<f32> want(x.size());
        for (size_t i = 0; i < x.size(); ++i) want[i] = plain(x[i], y[step == 0 ? 0 : i]);
        for (const BinaryFunction function : functions_of(kernel)) {
          std::vector<f32> got(x.size());
          const BinaryArgs args{.x = x.data(),
                                .y = y.data(),
                                .dst = got.data(),
                                .count = count,
                                .step_x = 1,
                                .step_y = step,
                                .a = 0.0f,
                                .b = 0.0f};
          function(&args);
          expect_same(got, want, kernel.name);
        }
      }
    }
  }
}

std::vector<f32> plain_softmax(std::span<const f32> x) {
  const f32 max = lane_max(x);
  std::vector<f32> y(x.size());
  std::ranges::transform(x, y.begin(), [&](f32 value) { return math_exp(value - max); });
  const f32 sum = lane_sum(y);
  for (f32& value : y) value /= sum;
  return y;
}

std::vector<f32> plain_layer_norm(std::span<const f32> x, const RowArgs& args) {
  const auto count = static_cast<s64>(x.size());
  const f32 mean = lane_sum(x) / static_cast<f32>(count);
  const f32 squares = lane_sum(count, [&](s64 i) {
    const f32 d = x[static_cast<size_t>(i)] - mean;
    return d * d;
  });
  const f32 factor = 1.0f / std::sqrt(squares / static_cast<f32>(count) + args.epsilon);
  std::vector<f32> y(x.size());
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = (x[i] - mean) * factor * args.scale[i] + args.bias[i];
  return y;
}

// Several rows in one call.
template <class Row>
void check_rows_of(const FloatKernel<RowArgs>& kernel, const Row& plain) {
  constexpr s64 kRows = 3;
  for (const s64 count : {1, 2, 7, 8, 9, 16, 17, 40, 300}) {
    const std::vector<f32> x = random_reals(kRows * count, 5), scale = random_reals(count, 6),
                           bias = random_reals(count, 7);
    for (const auto function : functions_of(kernel)) {
      std::vector<f32> got(x.size()), want;
      const RowArgs args{x.data(), got.data(), count, scale.data(), bias.data(), 1e-3f, kRows};
      for (s64 row = 0; row < kRows; ++row) {
        const std::vector<f32> y = plain(
            std::span(x).subspan(static_cast<size_t>(row * count), static_cast<size_t>(count)),
            args);
        want.insert(want.end(), y.begin(), y.end());
      }
      function(&args);
      expect_same(got, want, kernel.name + std::to_string(count));
    }
  }
}

TEST(KernelLevels, RowsOfReals) {
  NEEDS_VECTORS();
  check_rows_of(kSoftmaxF32,
                [](std::span<const f32> x, const RowArgs&) { return plain_softmax(x); });
  check_rows_of(kLayerNormF32, plain_layer_norm);
}

struct CodeRows {
  std::vector<u8> x;
  std::vector<f32> scale, bias, room;
  CodeRowArgs args;

  CodeRows(s64 rows, s64 count)
      : x(static_cast<size_t>(rows * count)),
        scale(random_reals(count, 6)),
        bias(random_reals(count, 7)),
        room(static_cast<size_t>(rows * count)),
        args{.src = x.data(),
             .real_src = nullptr,
             .dst = nullptr,
             .count = count,
             .rows = rows,
             .scale_x = 0.03f,
             .zero_x = 117.0f,
             .scale_y = 1.0f / 256.0f,
             .zero_y = 3.0f,
             .scale = scale.data(),
             .bias = bias.data(),
             .epsilon = 1e-3f,
             .reals = room.data()} {
    std::mt19937 random(8);
    for (u8& code : x) code = static_cast<u8>(random() & 0xff);
  }
  std::vector<f32> reals(s64 row) const {
    std::vector<f32> values(static_cast<size_t>(args.count));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (static_cast<f32>(x[static_cast<size_t>(row * args.count) + i]) - args.zero_x) *
                  args.scale_x;
    return values;
  }
  u8 code(f32 real) const {
    const f32 most = std::max(real / args.scale_y, -args.zero_y);
    return static_cast<u8>(std::nearbyint(std::min(most, 255.0f - args.zero_y)) + args.zero_y);
  }
};

template <class Row>
void check_code_rows(const FloatKernel<CodeRowArgs>& kernel, const Row& plain) {
  constexpr s64 kRows = 6;
  for (const s64 count : {1, 2, 5, 8, 9, 17, 33, 200}) {
    const CodeRows rows(kRows, count);
    std::vector<u8> want;
    for (s64 row = 0; row < kRows; ++row) {
      for (const f32 real : plain(rows.reals(row), rows.args)) want.push_back(rows.code(real));
    }
    for (const auto function : functions_of(kernel)) {
      std::vector<u8> got(want.size());
      CodeRowArgs args = rows.args;
      args.dst = got.data();
      function(&args);
      ASSERT_EQ(got, want) << kernel.name << " of " << count;
    }
  }
}

TEST(KernelLevels, RowsOfCodes) {
  NEEDS_VECTORS();
  check_code_rows(kSoftmaxU8,
                  [](const std::vector<f32>& x, const CodeRowArgs&) { return plain_softmax(x); });
  check_code_rows(kLayerNormU8, [](const std::vector<f32>& x, const CodeRowArgs& args) {
    return plain_layer_norm(x,
                            {nullptr, nullptr, args.count, args.scale, args.bias, args.epsilon, 1});
  });
}

}  // namespace
}  // namespace octet
