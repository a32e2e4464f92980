// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, Where and integer arithmetic on the device against the scalar reference: every type, values at the ends of each, broadcast.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "backends/cuda/lowerings.h"
#include "core/visit.h"
#include "gpu_probe.h"

namespace octet {
namespace {

constexpr Dtype kIntegers[] = {Dtype::s8,  Dtype::u8,  Dtype::s16, Dtype::u16,
                               Dtype::s32, Dtype::u32, Dtype::s64, Dtype::u64};

// A third of the values are 0, 1, -1, the largest, the least; NaN and infinities of reals.
Tensor any_values(Dtype dtype, const Shape& shape, u32 seed) {
  std::mt19937_64 random(seed);
  Tensor tensor(dtype, shape);
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      for (bool& v : tensor.mutable_as<bool>()) v = random() % 2 == 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      using Limits = std::numeric_limits<T>;
      const T odd[] = {
          T{0}, T{1}, static_cast<T>(-1), Limits::max(), Limits::lowest(), static_cast<T>(7)};
      for (T& v : tensor.mutable_as<T>()) {
        v = std::is_integral_v<T> ? static_cast<T>(random())
                                  : static_cast<T>(static_cast<int>(random() % 41) - 20) / T{4};
        if (random() % 3 == 0) v = odd[random() % std::size(odd)];
        if constexpr (std::is_floating_point_v<T>) {
          const T far[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), T{-0.0f}};
          if (random() % 9 == 0) v = far[random() % std::size(far)];
        }
      }
    } else {
      for (T& v : tensor.mutable_as<T>()) v = std::bit_cast<T>(static_cast<u16>(random()));
    }
  });
  return tensor;
}

struct Operands {
  Shape a, b;
};
const Operands kOperands[] = {{{2, 12, 5, 6}, {2, 12, 5, 6}},
                              {{2, 12, 5, 6}, {12, 1, 1}},
                              {{2, 1, 5, 1}, {2, 12, 5, 6}},
                              {{7, 1}, {1, 9}},
                              {{1021}, {1021}},
                              {{3, 33}, {1}}};

// Case `number` of the ways in which operands may lie: both orders of broadcasting, images in both layouts, the second operand constant.
constexpr u32 kWays = 4 * std::size(kOperands);

Probe binary(const char* op, Dtype dtype, u32 number) {
  const Operands& shapes = kOperands[number % std::size(kOperands)];
  const u32 way = number / std::size(kOperands);
  const bool is_constant = way % 2 == 1;
  const auto layout_of = [&](const Shape& shape) {
    return shape.rank() == 4 && way / 2 % 2 == 1 ? Layout::nhwc : Layout::linear;
  };
  Probe probe{.op = op};
  probe.inputs.push_back(activation(any_values(dtype, shapes.a, number), layout_of(shapes.a)));
  probe.inputs.push_back({any_values(dtype, shapes.b, number + 99), is_constant,
                          is_constant ? Layout::linear : layout_of(shapes.b)});
  return probe;
}

// Every function of every type; each is a kernel that is compiled for it, so the ways take turns.
void expect_functions(std::initializer_list<const char*> ops, std::span<const Dtype> types,
                      LowerFunction lowering) {
  u32 number = 0;
  for (const char* op : ops) {
    for (const Dtype dtype : types)
      expect_exact_on_gpu(binary(op, dtype, number++ % kWays), lowering,
                          fmt::format("{} of {}", op, dtype_name(dtype)));
  }
}

TEST(GpuComparison, EveryWay) {
  NEEDS_GPU();
  for (u32 way = 0; way < kWays; ++way)
    expect_exact_on_gpu(binary("Less", Dtype::f32, way), cuda::lower_comparison,
                        fmt::format("way {}", way));
}

TEST(GpuComparison, EveryFunctionAndType) {
  NEEDS_GPU();
  std::vector<Dtype> types(std::begin(kIntegers), std::end(kIntegers));
  types.insert(types.end(), {Dtype::f64, Dtype::f32});
  expect_functions({"Less", "Equal", "Greater", "GreaterOrEqual", "LessOrEqual"}, types,
                   cuda::lower_comparison);
  expect_exact_on_gpu(binary("Equal", Dtype::boolean, 0), cuda::lower_comparison, "of bools");
}

TEST(GpuComparison, NaN) {
  NEEDS_GPU();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1021}})
    expect_exact_on_gpu({.op = "IsNaN", .inputs = {activation(any_values(Dtype::f32, shape, 3))}},
                        cuda::lower_comparison, "IsNaN");
}

TEST(GpuComparison, Infinities) {
  NEEDS_GPU();
  for (int ends : {0, 1, 2, 3}) {
    Probe probe{.op = "IsInf", .inputs = {activation(any_values(Dtype::f32, {1021}, 3))}};
    probe.attrs.set("detect_negative", s64{ends % 2});
    probe.attrs.set("detect_positive", s64{ends / 2});
    expect_exact_on_gpu(probe, cuda::lower_comparison, fmt::format("IsInf {}", ends));
  }
}

TEST(GpuComparison, SaysWhyNot) {
  NEEDS_GPU();
  const Tensor half(Dtype::f16, {4});
  const Probe probe{.op = "Less", .inputs = {activation(half), activation(half)}};
  EXPECT_EQ(run_on_gpu(probe, cuda::lower_comparison).reject, "comparing f16 is left to the CPU");
  const Tensor one(Dtype::s64, {4});
  const Probe constants{.op = "Less", .inputs = {constant(one), constant(one)}};
  EXPECT_EQ(run_on_gpu(constants, cuda::lower_comparison).reject, "all operands are constant");
}

TEST(GpuLogic, EveryFunction) {
  NEEDS_GPU();
  constexpr Dtype kBool[] = {Dtype::boolean};
  expect_functions({"And", "Or", "Xor"}, kBool, cuda::lower_logic);
  for (Layout layout : {Layout::linear, Layout::nhwc})
    expect_exact_on_gpu(
        {.op = "Not", .inputs = {activation(any_values(Dtype::boolean, {2, 12, 5, 6}, 1), layout)}},
        cuda::lower_logic, "Not");
}

struct Choice {
  Shape condition, x, y;
};
const Choice kChoices[] = {{{2, 12, 5, 6}, {2, 12, 5, 6}, {2, 12, 5, 6}},
                           {{2, 1, 5, 6}, {2, 12, 5, 6}, {1}},
                           {{2, 1, 1, 6}, {1}, {2, 12, 5, 6}},
                           {{5, 1}, {1, 7}, {3, 1, 1}},
                           {{1}, {333}, {333}},
                           {{333}, {1}, {1}}};

// The bits of `constants`: the condition, x, y.
Probe choice(Dtype dtype, const Choice& c, u32 constants) {
  Probe probe{.op = "Where"};
  probe.inputs.push_back({any_values(Dtype::boolean, c.condition, 1), (constants & 1) != 0});
  probe.inputs.push_back({any_values(dtype, c.x, 2), (constants & 2) != 0});
  probe.inputs.push_back({any_values(dtype, c.y, 3), (constants & 4) != 0});
  return probe;
}

TEST(GpuWhere, EveryTypeAndBroadcast) {
  NEEDS_GPU();
  u32 number = 0;
  for (Dtype dtype : {Dtype::boolean, Dtype::s8, Dtype::f16, Dtype::s32, Dtype::f32, Dtype::s64}) {
    for (const Choice& c : kChoices)
      expect_exact_on_gpu(choice(dtype, c, number++ % 7), cuda::lower_where,
                          fmt::format("Where of {}", dtype_name(dtype)));
  }
  for (const Choice& c : kChoices) {
    if (c.condition.rank() != 4) continue;
    Probe probe = choice(Dtype::f32, c, 0);
    for (ProbeInput& input : probe.inputs)
      if (input.tensor.shape().rank() == 4) input.layout = Layout::nhwc;
    for (s64 spread : {0, 3}) {
      probe.spread = spread;
      expect_exact_on_gpu(probe, cuda::lower_where, "nhwc");
    }
  }
}

TEST(GpuIntegers, EveryFunctionAndType) {
  NEEDS_GPU();
  expect_functions({"Add", "Div", "Max", "Min", "Mod", "Mul", "Sub"}, kIntegers,
                   cuda::lower_integers);
  for (Dtype dtype : kIntegers) {
    Probe probe = binary("Mod", dtype, 0);
    probe.attrs.set("fmod", s64{1});
    expect_exact_on_gpu(probe, cuda::lower_integers, "fmod");
    const bool is_signed = dtype_name(dtype)[0] == 's';
    for (const char* op : {"Abs", "Neg"})
      if (is_signed || std::string_view(op) == "Abs")
        expect_exact_on_gpu({.op = op, .inputs = {activation(any_values(dtype, {1021}, 3))}},
                            cuda::lower_integers, op);
  }
}

TEST(GpuIntegers, SaysWhyNot) {
  NEEDS_GPU();
  const Tensor real(Dtype::f64, {4}), whole(Dtype::s64, {4});
  const Probe reals{.op = "Add", .inputs = {activation(real), activation(real)}};
  EXPECT_EQ(run_on_gpu(reals, cuda::lower_integers).reject, "the operands are not integers");
  const Probe one{.op = "Max", .inputs = {activation(whole)}};
  EXPECT_EQ(run_on_gpu(one, cuda::lower_integers).reject, "there are not two operands");
}

// Every 2^15th float: both ends of each type, NaN, infinities.
TEST(GpuCast, RealsToIntegers) {
  NEEDS_GPU();
  Tensor x(Dtype::f32, {1, 4, 128, 256});
  u32 bits = 0;
  for (f32& v : x.mutable_as<f32>()) v = std::bit_cast<f32>(bits++ << 15);
  f32 near[] = {0.5f, -0.5f, -0.99f, 127.9f, 128.0f, 254.5f, 255.0f, 32767.5f, 65535.9f, 1.5f};
  std::ranges::copy(near, x.mutable_as<f32>().begin() + 7);
  for (Dtype dtype : kIntegers) {
    Probe probe{.op = "Cast", .inputs = {activation(x)}};
    probe.attrs.set("to", std::string(dtype_name(dtype)));
    expect_exact_on_gpu(probe, cuda::lower_cast, fmt::format("to {}", dtype_name(dtype)));
  }
}

// To halves the reals at each step of theirs, between two and beside both; from them all bits.
TEST(GpuCast, Halves) {
  NEEDS_GPU();
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const int dropped = dtype == Dtype::f16 ? 13 : 16;  // bits
    const u32 half = 1u << (dropped - 1), near[] = {0, half - 1, half, half + 1};
    Tensor x(Dtype::f32, {1, 4, 128, s64{1} << (32 - dropped - 7)});
    u32 number = 0;
    for (f32& v : x.mutable_as<f32>()) {
      v = std::bit_cast<f32>(number / 4 << dropped | near[number % 4]);
      ++number;
    }
    Probe to{.op = "Cast", .inputs = {activation(x)}};
    to.attrs.set("to", std::string(dtype_name(dtype)));
    expect_exact_on_gpu(to, cuda::lower_cast, fmt::format("to {}", dtype_name(dtype)));
    Tensor all(dtype, {1, 2, 128, 256});
    for (u32 i = 0; i < 1u << 16; ++i) {
      const u16 bits = static_cast<u16>(i);
      std::memcpy(all.mutable_data() + 2 * i, &bits, sizeof bits);
    }
    Probe from{.op = "Cast", .inputs = {activation(all)}};
    from.attrs.set("to", std::string("f32"));
    expect_exact_on_gpu(from, cuda::lower_cast, fmt::format("from {}", dtype_name(dtype)));
  }
}

TEST(GpuTile, RepeatsOfEachAxis) {
  NEEDS_GPU();
  struct Repeats {
    Shape shape;
    std::vector<s64> repeats;
  };
  const Repeats all[] = {
      {{3, 5}, {2, 3}}, {{1, 7, 1}, {4, 1, 6}}, {{2, 3, 4, 5}, {1, 2, 3, 2}}, {{9}, {1}}};
  for (const Repeats& r : all) {
    for (Dtype dtype : {Dtype::u8, Dtype::f32, Dtype::s64}) {
      Probe probe{.op = "Tile", .inputs = {activation(any_values(dtype, r.shape, 1))}};
      const s64 rank = std::ssize(r.repeats);
      probe.inputs.push_back(constant(Tensor::of<s64>(Shape{rank}, r.repeats)));
      expect_exact_on_gpu(probe, cuda::lower_tile, "tile");
      if (rank != 4) continue;
      probe.inputs[0].layout = Layout::nhwc;
      probe.spread = 3;
      expect_exact_on_gpu(probe, cuda::lower_tile, "tile, nhwc");
    }
  }
}

}  // namespace
}  // namespace octet
