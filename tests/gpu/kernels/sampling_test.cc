// SPDX-License-Identifier: Apache-2.0
// GridSample and CumSum on the device against the scalar reference: positions at and beyond the borders, between pixels and on them.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"

namespace octet {
namespace {

Tensor positions(const Shape& shape, u32 seed) {
  const f32 inf = std::numeric_limits<f32>::infinity();
  const f32 odd[] = {-1.0f, 1.0f, 0.0f, -0.0f, -1.2f,
                     1.3f,  inf,  -inf, 1e30f, std::numeric_limits<f32>::quiet_NaN()};
  std::mt19937 random(seed);
  Tensor grid(Dtype::f32, shape);
  for (f32& v : grid.mutable_as<f32>()) {
    v = static_cast<f32>(random() % 4001) * 0.0006f - 1.2f;
    if (random() % 4 == 0) v = static_cast<f32>(random() % 9) * 0.25f - 1.0f;  // ties, pixels
    if (random() % 12 == 0) v = odd[random() % std::size(odd)];
  }
  return grid;
}

TEST(GpuGridSample, ModesBordersAndSizes) {
  NEEDS_GPU();
  struct Sizes {
    Shape x, grid;
  };
  const Sizes all[] = {
      {{2, 3, 5, 7}, {2, 4, 6, 2}}, {{1, 5, 1, 1}, {1, 3, 3, 2}}, {{3, 32, 8, 4}, {3, 30, 4, 2}}};
  for (const Sizes& sizes : all) {
    for (const char* mode : {"linear", "nearest", "cubic"}) {
      for (const char* padding : {"zeros", "border", "reflection"}) {
        for (s64 align : {0, 1}) {
          Probe probe{
              .op = "GridSample",
              .inputs = {activation(random_f32(sizes.x, 1)), activation(positions(sizes.grid, 2))}};
          probe.attrs.set("mode", std::string(mode));
          probe.attrs.set("padding_mode", std::string(padding));
          probe.attrs.set("align_corners", align);
          const std::string what = fmt::format("{}, {}, {}", mode, padding, align);
          expect_exact_on_gpu(probe, cuda::lower_grid_sample, what);
          probe.inputs[0].layout = Layout::nhwc;
          expect_exact_on_gpu(probe, cuda::lower_grid_sample, what + ", nhwc");
        }
      }
    }
  }
}

TEST(GpuGridSample, ConstantPositions) {
  NEEDS_GPU();
  const Probe probe{
      .op = "GridSample",
      .inputs = {activation(random_f32({1, 2, 3, 3}, 1)), constant(positions({1, 2, 2, 2}, 2))}};
  expect_exact_on_gpu(probe, cuda::lower_grid_sample, "constant positions");
}

TEST(GpuGridSample, SaysWhyNot) {
  NEEDS_GPU();
  const Probe volume{.op = "GridSample",
                     .inputs = {activation(random_f32({1, 2, 3, 3, 3}, 1)),
                                activation(positions({1, 2, 2, 2, 3}, 2))}};
  EXPECT_EQ(run_on_gpu(volume, cuda::lower_grid_sample).reject, "the input is not an image");
}

// Types take turns: each is a kernel that is compiled for it.
TEST(GpuRunningSum, EveryTypeAndAxis) {
  NEEDS_GPU();
  constexpr Dtype kTypes[] = {Dtype::s8, Dtype::u8, Dtype::s32, Dtype::u32, Dtype::s64, Dtype::u64};
  u32 number = 0;
  for (const Shape& shape : {Shape{3, 17}, Shape{70, 1, 5}, Shape{1}}) {
    for (s64 axis = -1; axis < shape.rank(); ++axis) {
      for (s64 flags : {0, 1, 2, 3}) {
        std::mt19937 random(++number);
        Tensor x(kTypes[number % std::size(kTypes)], shape);
        for (size_t i = 0; i < x.bytes(); ++i)
          x.mutable_data()[i] = static_cast<std::byte>(random());
        Probe probe{.op = "CumSum", .inputs = {activation(x), constant(Tensor::scalar<s64>(axis))}};
        probe.attrs.set("reverse", flags % 2), probe.attrs.set("exclusive", flags / 2);
        expect_exact_on_gpu(probe, cuda::lower_running_sum, fmt::format("{}, {}", axis, flags));
        probe.inputs[0] = activation(random_f32(shape, number));
        expect_exact_on_gpu(probe, cuda::lower_running_sum, fmt::format("reals, {}", axis));
      }
    }
  }
  const Probe doubles{
      .op = "CumSum",
      .inputs = {activation(Tensor(Dtype::f64, {4})), constant(Tensor::scalar<s64>(0))}};
  EXPECT_EQ(run_on_gpu(doubles, cuda::lower_running_sum).reject,
            "only integers and f32 are added up");
}

}  // namespace
}  // namespace octet
