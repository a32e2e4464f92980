// SPDX-License-Identifier: Apache-2.0
// Concat and Split on the device against the scalar reference: parts that share a launch and parts that cannot.
#include <gtest/gtest.h>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"

namespace octet {
namespace {

Shape with_axis(Shape shape, int axis, s64 size) {
  shape[axis] = size;
  return shape;
}

// Codes, or reals where `width` is 4.
Tensor part_of(const Shape& shape, u64 seed, int width) {
  return width == 4 ? random_f32(shape, seed) : random_u8(shape, seed);
}

Probe concat(const Shape& shape, int axis, const std::vector<s64>& sizes, Layout layout,
             int width = 1) {
  Probe probe{.op = "Concat"};
  for (size_t i = 0; i < sizes.size(); ++i)
    probe.inputs.push_back(
        activation(part_of(with_axis(shape, axis, sizes[i]), i + 1, width), layout));
  probe.attrs.set("axis", s64{axis});
  return probe;
}

Probe split(const Shape& shape, int axis, const std::vector<s64>& sizes, Layout layout,
            int width = 1) {
  s64 all = 0;
  for (const s64 size : sizes) all += size;
  Probe probe{.op = "Split",
              .inputs = {activation(part_of(with_axis(shape, axis, all), 1, width), layout)}};
  probe.inputs.push_back(constant(Tensor::of<s64>(Shape{std::ssize(sizes)}, sizes)));
  probe.attrs.set("axis", s64{axis});
  probe.outputs = sizes.size();
  return probe;
}

std::vector<s64> equal_parts(size_t count, s64 size) { return std::vector<s64>(count, size); }

// Parts of every width of access, and more than a launch takes.
std::vector<std::vector<s64>> all_sizes() {
  std::vector<std::vector<s64>> all = {
      {3, 5}, {16, 32}, {1, 1, 1}, {64, 1, 17, 2}, {8, 4, 2, 2, 16, 32}};
  for (const size_t count : {32u, 33u, 64u}) all.push_back(equal_parts(count, 16));
  all.push_back(equal_parts(40, 3));
  return all;
}

void expect_channels(const Shape& shape, const std::vector<s64>& sizes, s64 spread) {
  const std::string what =
      fmt::format("{} parts, {}, {} apart", sizes.size(), to_string(shape), spread);
  Probe whole = concat(shape, 1, sizes, Layout::nhwc);
  Probe parts = split(shape, 1, sizes, Layout::nhwc);
  whole.spread = parts.spread = spread;
  expect_exact_on_gpu(whole, cuda::lower_concat, "concat of " + what);
  expect_exact_on_gpu(parts, cuda::lower_split, "split of " + what);
}

TEST(GpuMove, ChannelsOfImages) {
  NEEDS_GPU();
  for (const std::vector<s64>& sizes : all_sizes()) {
    expect_channels({1, 1, 1, 1}, sizes, 0);
    for (const s64 spread : {0, 3, 16}) expect_channels({3, 1, 5, 7}, sizes, spread);
  }
}

TEST(GpuMove, AnyAxisOfAnyRank) {
  NEEDS_GPU();
  const std::vector<s64> sizes = {4, 8, 1, 16};
  for (const int width : {1, 4}) {
    for (const Shape& shape : {Shape{3, 12, 4, 6, 16}, Shape{2, 20, 48}, Shape{7}}) {
      for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::string what = fmt::format("axis {} of {}", axis, to_string(shape));
        expect_exact_on_gpu(concat(shape, axis, sizes, Layout::linear, width), cuda::lower_concat,
                            "concat, " + what);
        expect_exact_on_gpu(split(shape, axis, sizes, Layout::linear, width), cuda::lower_split,
                            "split, " + what);
      }
    }
    for (const int axis : {0, 2, 3}) {
      Probe probe = concat({2, 10, 3, 5}, axis, sizes, Layout::nhwc, width);
      expect_exact_on_gpu(probe, cuda::lower_concat, fmt::format("nhwc, axis {}", axis));
      probe.inputs[1].constant = true;
      expect_exact_on_gpu(probe, cuda::lower_concat, fmt::format("a constant, axis {}", axis));
    }
  }
}

// More than one turn of a thread, a last block that is not full.
TEST(GpuMove, LargeParts) {
  NEEDS_GPU();
  const std::vector<s64> sizes = {48, 16, 80, 3, 5};
  expect_exact_on_gpu(concat({3, 1, 101, 103}, 1, sizes, Layout::nhwc, 4), cuda::lower_concat,
                      "concat");
  expect_exact_on_gpu(split({3, 1, 101, 103}, 1, sizes, Layout::nhwc, 4), cuda::lower_split,
                      "split");
}

size_t launches_of(const Probe& probe, LowerFunction lowering) {
  BindArgs bind;
  bind.inputs.resize(probe.inputs.size());
  bind.outputs.resize(probe.outputs);
  return run_on_gpu(probe, lowering).candidate.prepare(bind).size();
}

TEST(GpuMove, PartsShareLaunches) {
  NEEDS_GPU();
  const std::pair<size_t, size_t> wanted[] = {{1, 1}, {2, 1}, {24, 1}, {32, 1}, {33, 2}, {64, 2}};
  for (const auto& [parts, launches] : wanted) {
    const std::vector<s64> sizes = equal_parts(parts, 16);
    EXPECT_EQ(launches_of(concat({2, 1, 16}, 1, sizes, Layout::linear), cuda::lower_concat),
              launches);
    EXPECT_EQ(launches_of(split({2, 1, 16}, 1, sizes, Layout::linear), cuda::lower_split),
              launches);
  }
  // Parts of 16 bytes at a time together, those of 2, and one of 8.
  const Probe mixed = concat({1, 2}, 0, {8, 16, 3, 5, 4}, Layout::linear);
  EXPECT_EQ(launches_of(mixed, cuda::lower_concat), 3u);
}

}  // namespace
}  // namespace octet
