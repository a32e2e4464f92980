// SPDX-License-Identifier: Apache-2.0
// Reductions on the device against the scalar reference: every operator, rows of all lengths around the 16 lanes, any axes, both layouts; zeros
// of both signs, NaN and infinities, equal extremes.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <random>

#include "backends/cuda/lowerings.h"
#include "core/visit.h"
#include "gpu_probe.h"

namespace octet {
namespace {

const char* const kReals[] = {"ReduceL1",  "ReduceL2",   "ReduceMax", "ReduceMean",
                              "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"};
const char* const kIntegers[] = {"ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum"};
const char* const kPlaces[] = {"ArgMax", "ArgMin"};

// Few different values, so that extremes come more than once.
Tensor few_values(const Shape& shape, u64 seed) {
  std::mt19937_64 random(seed);
  Tensor x(Dtype::f32, shape);
  for (f32& v : x.mutable_as<f32>())
    v = static_cast<f32>(static_cast<int>(random() % 9) - 4) * 0.25f;
  return x;
}

// Rows of zeros of both signs, with and without NaNs of several bits and infinities.
Tensor odd_values(const Shape& shape, u64 seed) {
  std::mt19937_64 random(seed);
  const f32 inf = std::numeric_limits<f32>::infinity();
  Tensor x(Dtype::f32, shape);
  for (f32& v : x.mutable_as<f32>()) {
    v = random() % 2 == 0 ? 0.0f : -0.0f;
    if (random() % 40 == 0) v = random() % 2 == 0 ? inf : -inf;
    if (random() % 60 == 0) v = std::bit_cast<f32>(0x7fc00000u + static_cast<u32>(random() % 999));
  }
  return x;
}

Tensor any_integers(Dtype dtype, const Shape& shape, u64 seed) {
  std::mt19937_64 random(seed);
  Tensor x(dtype, shape);
  for (size_t i = 0; i < x.bytes(); ++i) x.mutable_data()[i] = static_cast<std::byte>(random());
  return x;
}

// The least and the largest of the type, in runs.
Tensor ends_of(Dtype dtype, const Shape& shape) {
  std::mt19937_64 random(4);
  Tensor x(dtype, shape);
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      T next = 0;
      for (T& v : x.mutable_as<T>()) {
        if (random() % 20 == 0) next = random() % 2 == 0 ? Limits::max() : Limits::lowest();
        v = next;
      }
    }
  });
  return x;
}

Probe reduction(const char* op, Tensor x, std::vector<s64> axes, bool keep) {
  Probe probe{.op = op, .inputs = {activation(std::move(x))}};
  probe.attrs.set("keepdims", s64{keep});
  const s64 count = std::ssize(axes);
  if (count > 0) probe.inputs.push_back(constant(Tensor::of<s64>(Shape{count}, axes)));
  return probe;
}

Probe place(const char* op, Tensor x, s64 axis, bool last) {
  Probe probe{.op = op, .inputs = {activation(std::move(x))}};
  probe.attrs.set("axis", axis);
  probe.attrs.set("keepdims", s64{axis % 2});
  probe.attrs.set("select_last_index", s64{last});
  return probe;
}

// Bits, those of NaN too, where elements are results.
void expect_bits(const Probe& probe, const std::string& what) {
  expect_exact_on_gpu(probe, cuda::lower_reduce, what);
  if (probe.op != "ReduceMax" && probe.op != "ReduceMin") return;
  const Tensor want = probe.reference()[0], got = run_on_gpu(probe, cuda::lower_reduce).outputs[0];
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << what;
}

TEST(GpuReduce, RowsOfAllLengths) {
  NEEDS_GPU();
  for (s64 count : {1, 15, 17, 1025}) {
    for (const char* op : kReals) {
      const std::string what = fmt::format("{} of {}", op, count);
      expect_bits(reduction(op, random_f32({40, count}, 5), {-1}, false), what);
      expect_bits(reduction(op, odd_values({40, count}, 7), {-1}, false), what + ", odd");
      expect_bits(reduction(op, random_f32({count, 40}, 6), {0}, true), what + ", columns");
      expect_bits(reduction(op, odd_values({count, 40}, 8), {0}, true), what + ", odd columns");
    }
    for (const char* op : kPlaces) {
      for (bool last : {false, true}) {
        const std::string what = fmt::format("{} of {}{}", op, count, last ? ", last" : "");
        expect_bits(place(op, few_values({40, count}, 5), 1, last), what);
        expect_bits(place(op, odd_values({40, count}, 7), 1, last), what + ", odd");
        expect_bits(place(op, few_values({count, 40}, 6), 0, last), what + ", columns");
        expect_bits(place(op, odd_values({count, 40}, 8), 0, last), what + ", odd columns");
      }
    }
  }
}

// Each is a kernel that is compiled for it: operators take turns.
TEST(GpuReduce, AnyAxesAndLayouts) {
  NEEDS_GPU();
  const Shape shape{2, 12, 5, 7};
  const std::vector<std::vector<s64>> all = {{},     {0},  {1},          {2, 3}, {1, 2, 3},
                                             {0, 2}, {-1}, {0, 1, 2, 3}, {3, 0}};
  size_t number = 0;
  for (Layout layout : {Layout::linear, Layout::nhwc}) {
    for (const auto& axes : all) {
      for (int turn = 0; turn < 3; ++turn, ++number) {
        const char* op = kReals[number % std::size(kReals)];
        Probe probe = reduction(op, few_values(shape, 3), axes, number % 2 == 0);
        probe.inputs[0].layout = layout;
        if (layout == Layout::nhwc) probe.spread = static_cast<s64>(number % 3);
        expect_bits(probe, fmt::format("{} of {} axes", op, axes.size()));
      }
    }
    for (const char* op : kPlaces) {
      for (s64 axis : {0, 1, 2, 3, -1}) {
        Probe probe = place(op, few_values(shape, 3), axis, axis == 2);
        probe.inputs[0].layout = layout;
        expect_bits(probe, fmt::format("{} along {}", op, axis));
      }
    }
  }
}

TEST(GpuReduce, Integers) {
  NEEDS_GPU();
  for (Dtype dtype : {Dtype::s8, Dtype::u8, Dtype::s16, Dtype::u16, Dtype::s32, Dtype::u32,
                      Dtype::s64, Dtype::u64}) {
    for (const char* op : kIntegers) {
      const std::string what = fmt::format("{} of {}", op, dtype_name(dtype));
      expect_bits(reduction(op, any_integers(dtype, {5, 17}, 1), {1}, false), what);
      expect_bits(reduction(op, any_integers(dtype, {3, 5, 32}, 2), {1}, true), what + ", columns");
    }
    for (const char* op : kPlaces) {
      for (bool last : {false, true}) {
        const std::string what = fmt::format("{} of {}, {}", op, dtype_name(dtype), last);
        expect_bits(place(op, any_integers(dtype, {50, 40}, 3), last ? 1 : 0, last), what);
        expect_bits(place(op, ends_of(dtype, {50, 40}), last ? 1 : 0, last), what + ", ends");
        expect_bits(place(op, ends_of(dtype, {9, 77}), last ? 0 : 1, last), what + ", other axis");
      }
    }
  }
}

Probe mean_of_codes(Tensor x, std::vector<s64> axes, Layout layout, s64 spread) {
  const bool is_signed = x.dtype() == Dtype::s8;
  Probe probe{.op = "QReduceMean", .inputs = {activation(std::move(x), layout)}};
  probe.attrs.set("axes", std::move(axes));
  probe.attrs.set("scales", std::vector<f32>{0.11f, 0.03f});
  probe.attrs.set("input_zero_points", std::vector<s64>{is_signed ? -7 : 119});
  probe.attrs.set("output_zero_point", s64{is_signed ? 5 : 128});
  if (is_signed) probe.attrs.set("output_dtype", std::string("s8"));
  probe.spread = spread;
  return probe;
}

// One pixel to more than all lanes take at once, channels of every width of access and many blocks of them, images apart.
TEST(GpuReduce, MeansOfCodes) {
  NEEDS_GPU();
  const std::vector<Shape> shapes = {{1, 1, 1, 1},    {3, 7, 1, 1},     {3, 20, 1, 2},
                                     {1, 33, 5, 7},   {2, 1280, 7, 7},  {3, 96, 23, 19},
                                     {1, 32, 80, 81}, {150, 16, 2, 3},  {1, 8, 130, 131},
                                     {1, 3, 41, 43},  {1, 2064, 3, 11}, {1, 24, 56, 55}};
  for (const Shape& shape : shapes) {
    const Tensor x = random_u8(shape, 3), y = random_s8(shape, 3, true);
    for (s64 spread : {0, 3, 16}) {
      expect_exact_on_gpu(mean_of_codes(x, {2, 3}, Layout::nhwc, spread), cuda::lower_mean_codes,
                          fmt::format("mean of {}, {} apart", to_string(shape), spread));
    }
    expect_exact_on_gpu(mean_of_codes(y, {2, 3}, Layout::nhwc, 0), cuda::lower_mean_codes,
                        "signed mean of " + to_string(shape));
    expect_exact_on_gpu(mean_of_codes(y, {0, 2}, Layout::nhwc, 0), cuda::lower_mean_codes,
                        "rows of all images of " + to_string(shape));
    expect_exact_on_gpu(mean_of_codes(x, {1}, Layout::linear, 0), cuda::lower_mean_codes,
                        "channels of " + to_string(shape));
  }
  // The largest sums: 2^22 codes.
  const Tensor highest = random_u8({1, 2, 2048, 2048}, 3, Codes::highest);
  expect_exact_on_gpu(mean_of_codes(highest, {2, 3}, Layout::nhwc, 0), cuda::lower_mean_codes,
                      "largest sums");
}

// Rows longer than one turn of all lanes, of integers whose order is free.
TEST(GpuReduce, LongColumnsOfIntegers) {
  NEEDS_GPU();
  for (Dtype dtype : {Dtype::u8, Dtype::s16, Dtype::s32, Dtype::s64}) {
    for (const char* op : kIntegers) {
      expect_bits(reduction(op, any_integers(dtype, {2, 2100, 16}, 2), {1}, true), op);
      expect_bits(reduction(op, any_integers(dtype, {777, 3}, 2), {0}, true), op);
    }
    for (const char* op : kPlaces)
      expect_bits(place(op, ends_of(dtype, {2100, 16}), 0, dtype == Dtype::u8), op);
  }
}

TEST(GpuReduce, SaysWhyNot) {
  NEEDS_GPU();
  const auto why = [](const Probe& probe) { return run_on_gpu(probe, cuda::lower_reduce).reject; };
  EXPECT_EQ(why(reduction("ReduceL2", any_integers(Dtype::s32, {4, 4}, 1), {1}, true)),
            "reducing s32 is left to the CPU");
  Probe none = reduction("ReduceMax", few_values({4, 4}, 1), {}, true);
  none.attrs.set("noop_with_empty_axes", s64{1});
  EXPECT_EQ(why(none), "no axis is reduced");
}

}  // namespace
}  // namespace octet
