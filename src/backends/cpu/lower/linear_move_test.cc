// SPDX-License-Identifier: Apache-2.0
// Strided copies of linear tensors against the scalar reference.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"

namespace octet {
namespace {

using Ints = std::vector<s64>;

ProbeInput ints(const Ints& values) {
  return {Tensor::of<s64>(Shape{static_cast<s64>(values.size())}, values), true};
}

void expect_exact(const Probe& probe, Offer (*lowering)(const LowerRequest&),
                  const std::string& what) {
  const ProbeResult result = run_probe(probe, lowering);
  ASSERT_EQ(result.reject, "") << what;
  const std::vector<Tensor> want = probe.reference();
  ASSERT_EQ(result.outputs.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) expect_same_f32(result.outputs[i], want[i], what);
}

ProbeInput indices(const Shape& shape, s64 most, u64 seed) {
  Tensor tensor(Dtype::s64, shape);
  const Tensor random = random_f32(shape, seed, 1000.0f);
  for (size_t i = 0; i < static_cast<size_t>(shape.elements()); ++i)
    tensor.mutable_as<s64>()[i] = static_cast<s64>(random.as<f32>()[i]) % most;
  return {tensor, true};
}

TEST(KnownMoves, GathersEqualTheReference) {
  for (int threads : {1, 3}) {
    Probe rows{.op = "Gather",
               .inputs = {{random_f32(Shape{40, 70}, 1)}, indices({300, 2}, 40, 2)},
               .threads = threads};
    expect_exact(rows, lower_known_moves, "rows");
    rows.attrs.set("axis", s64{1});
    expect_exact(rows, lower_known_moves, "columns");
    Probe elements{.op = "GatherElements",
                   .inputs = {{random_f32(Shape{4, 64, 128}, 1)}, indices({4, 64, 90}, 128, 3)},
                   .threads = threads};
    elements.attrs.set("axis", s64{-1});
    expect_exact(elements, lower_known_moves, "elements");
    Probe slices{.op = "GatherND",
                 .inputs = {{random_f32(Shape{3, 6, 8, 5}, 1)}, indices({3, 7, 1}, 6, 4)},
                 .threads = threads};
    slices.attrs.set("batch_dims", s64{1});
    expect_exact(slices, lower_known_moves, "slices");
  }
}

// The data as a constant, as an activation, and an index that comes twice: the last one stays.
TEST(KnownMoves, ScattersEqualTheReference) {
  for (bool constant : {false, true}) {
    const ProbeInput data{random_f32(Shape{50, 400}, 1), constant};
    Probe slices{.op = "ScatterND",
                 .inputs = {data, indices({30, 1}, 50, 2), {random_f32(Shape{30, 400}, 3)}},
                 .threads = 2};
    expect_exact(slices, lower_known_moves, "slices");
    slices.attrs.set("reduction", std::string("add"));
    EXPECT_EQ(run_probe(slices, lower_known_moves).reject, "elements are combined");
    Probe elements{.op = "ScatterElements",
                   .inputs = {data, indices({50, 9}, 400, 2), {random_f32(Shape{50, 9}, 3)}}};
    elements.attrs.set("axis", s64{1});
    expect_exact(elements, lower_known_moves, "elements");
    elements.inputs[1].constant = false;
    EXPECT_EQ(run_probe(elements, lower_known_moves).reject, "the indices are not constant");
  }
}

TEST(LinearMove, ConcatOnEachAxis) {
  for (s64 axis : {0, 1, 2, -1}) {
    Probe probe{.op = "Concat", .threads = 2};
    for (s64 size : {1, 3, 2}) {
      Shape shape{4, 5, 6};
      shape[axis < 0 ? 2 : static_cast<int>(axis)] = size;
      probe.inputs.push_back({random_f32(shape, static_cast<u64>(size)), size == 3});
    }
    probe.attrs.set("axis", axis);
    expect_exact(probe, lower_linear_concat, std::to_string(axis));
  }
}

TEST(LinearMove, SplitOnEachAxis) {
  for (s64 axis : {0, 1, 2}) {
    Probe probe{
        .op = "Split", .inputs = {{random_f32(Shape{6, 6, 6}, 1)}, ints({1, 3, 2})}, .outputs = 3};
    probe.attrs.set("axis", axis);
    expect_exact(probe, lower_linear_split, std::to_string(axis));
  }
}

TEST(LinearMove, SliceWithStepsInBothDirections) {
  struct Case {
    Ints starts, ends, axes, steps;
  };
  const Case cases[] = {{{1, 2}, {4, 30}, {0, 2}, {1, 3}},
                        {{-1, -1}, {-100, 0}, {0, 1}, {-1, -2}},
                        {{0}, {9223372036854775807}, {1}, {2}},
                        {{3}, {4}, {0}, {9223372036854775807}},
                        {{-30, 4}, {30, -1}, {2, 1}, {1, 1}}};
  for (const Case& c : cases) {
    Probe probe{.op = "Slice",
                .inputs = {{random_f32(Shape{4, 40, 33}, 1)},
                           ints(c.starts),
                           ints(c.ends),
                           ints(c.axes),
                           ints(c.steps)},
                .threads = 2};
    expect_exact(probe, lower_linear_slice, to_string(Shape(c.starts)));
  }
  Probe large{.op = "Slice",
              .inputs = {{random_f32(Shape{3, 256, 256}, 1)},
                         ints({1, 0}),
                         ints({256, 256}),
                         ints({1, 2}),
                         ints({2, 2})},
              .threads = 3};
  expect_exact(large, lower_linear_slice, "focus");
}

// Elements of `bytes` bytes, all different in theirs.
Tensor counted(Dtype dtype, const Shape& shape) {
  Tensor x(dtype, shape);
  for (size_t i = 0; i < x.bytes(); ++i)
    x.mutable_data()[i] = static_cast<std::byte>(i * 37 + i / 256);
  return x;
}

// Some neighbours of many short rows: where they and all offsets are whole wider elements they move as such, else as they are.
TEST(LinearMove, FewElementsOfManyRows) {
  for (Dtype dtype : {Dtype::u8, Dtype::f16, Dtype::f32, Dtype::s64}) {
    for (s64 width : {4, 8, 9, 12}) {
      const Tensor x = counted(dtype, Shape{3, 700, width});
      for (s64 first = 0; first < 5; ++first) {
        for (s64 count : {1, 2, 3, 4, 8}) {
          if (first + count > width) continue;
          const std::string what = fmt::format("{} of {} from {}", count, width, first);
          Probe slice{.op = "Slice",
                      .inputs = {{x}, ints({first, 1}), ints({first + count, 600}), ints({2, 1})},
                      .threads = 2};
          const Tensor want = slice.reference()[0];
          const ProbeResult got = run_probe(slice, lower_linear_slice);
          ASSERT_EQ(got.reject, "") << what;
          ASSERT_EQ(std::memcmp(got.outputs[0].data(), want.data(), want.bytes()), 0) << what;
          Probe concat{.op = "Concat", .inputs = {{want}, {want}}, .threads = 3};
          concat.attrs.set("axis", s64{2});
          const ProbeResult joined = run_probe(concat, lower_linear_concat);
          const Tensor both = concat.reference()[0];
          ASSERT_EQ(joined.reject, "") << what;
          ASSERT_EQ(std::memcmp(joined.outputs[0].data(), both.data(), both.bytes()), 0) << what;
        }
      }
    }
  }
}

TEST(LinearMove, GatherPicksIndices) {
  for (s64 axis : {0, 1, 2}) {
    Probe probe{.op = "Gather", .inputs = {{random_f32(Shape{4, 5, 6}, 1)}, ints({0, -1, 2, 2})}};
    probe.attrs.set("axis", axis);
    expect_exact(probe, lower_linear_gather, std::to_string(axis));
    probe.inputs[1] = {Tensor::scalar(s64{1}), true};
    expect_exact(probe, lower_linear_gather, "scalar");
  }
  Probe outside{.op = "Gather", .inputs = {{random_f32(Shape{4, 5}, 1)}, ints({4})}};
  EXPECT_EQ(run_probe(outside, lower_linear_gather).reject, "an index lies outside the axis");
}

TEST(LinearMove, ExpandRepeats) {
  for (const Ints& shape : {Ints{2, 3, 4}, Ints{3, 1}, Ints{5, 1, 3, 4}, Ints{1}}) {
    Probe probe{.op = "Expand", .inputs = {{random_f32(Shape{3, 1}, 1)}, ints(shape)}};
    expect_exact(probe, lower_linear_expand, to_string(Shape(shape)));
  }
}

TEST(LinearMove, PadsByAValueOfTheRun) {
  Probe probe{
      .op = "Pad",
      .inputs = {
          {random_f32(Shape{2, 3, 4}, 1)}, ints({0, 1, 2, 1, 0, 3}), {Tensor::scalar<f32>(-1.5f)}}};
  expect_exact(probe, lower_linear_pad, "value");
}

TEST(LinearMove, PadsInEveryMode) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    for (const Layout layout : {Layout::linear, Layout::nhwc}) {
      Probe probe{.op = "Pad",
                  .inputs = {{random_f32(Shape{2, 5, 6, 7}, 1), false, layout},
                             ints({0, 2, -1, 3, 1, 1, 2, 4}),
                             {Tensor::scalar(1.5f), true}},
                  .threads = 2};
      probe.attrs.set("mode", std::string(mode));
      expect_exact(probe, lower_linear_pad, mode);
      probe.inputs[1] = ints({0, 0, 2, 3, 0, 0, 1, -2});  // whole pixels
      expect_exact(probe, lower_linear_pad, std::string(mode) + ", whole pixels");
      probe.inputs[1] = ints({1, 0, 0, 0, 0, 0, 0, 0});  // whole images
      expect_exact(probe, lower_linear_pad, std::string(mode) + ", whole images");
    }
    Probe rows{.op = "Pad", .inputs = {{random_f32(Shape{3, 4}, 2)}, ints({2, 0}), {}, ints({-1})}};
    rows.attrs.set("mode", std::string(mode));
    expect_exact(rows, lower_linear_pad, mode);
  }
}

}  // namespace
}  // namespace octet
