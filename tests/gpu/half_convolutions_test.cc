// SPDX-License-Identifier: Apache-2.0
// Convolutions of 16 bits that are products in another shape: of few channels, of groups taken together, transposed ones by phases, first layers with their pools.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/cuda/wanted_kernels.h"
#include "half_plans.h"

namespace octet::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using GpuHalfConvolutions = HalfPlans;

// Heads of detectors: one to four channels, of what lies in 16 bits.
TEST_F(GpuHalfConvolutions, FewChannels) {
  const Graph graph =
      parse_graph("graph \"g\"(%x: f32[2,8,40,40]) {\n" + weights("w", "16,8,3,3", 1152) +
                      weights("v", "1,16,1,1", 16) + weights("u", "3,16,1,1", 48) + R"(
  %r: f32[2,8,40,40] = RoundTo(%x) {to="f16"}
  %c: f32[2,16,40,40] = Conv(%r, %w) {pads=ints[1, 1, 1, 1]}
  %cr: f32[2,16,40,40] = RoundTo(%c) {to="f16"}
  %a: f32[2,1,40,40] = Conv(%cr, %v)
  %ar: f32[2,1,40,40] = RoundTo(%a) {to="f16"}
  %s: f32[2,1,40,40] = Sigmoid(%ar)
  %sr: f32[2,1,40,40] = RoundTo(%s) {to="f16"}
  %b: f32[2,3,40,40] = Conv(%cr, %u)
  %br: f32[2,3,40,40] = RoundTo(%b) {to="f16"}
  %y: f32[2,4,40,40] = Concat(%sr, %br) {axis=1}
  return %y
})",
                  find_op);
  if (is_emulated(
          *device_)) {  // on a larger chip casts around a direct convolution cost less, with images as small as these
    const std::vector<std::string> names = kernels(graph);
    // A first convolution by warpgroups reads the caller's f32 itself.
    EXPECT_THAT(names, Contains("cast").Times(::testing::Le(1)));
    EXPECT_THAT(names, AllOf(Not(Contains("reals")), Not(Contains("half_reals"))));
    EXPECT_THAT(names, Not(Contains(HasSubstr("direct"))));
  }
  expect_near(graph, random_inputs(graph, 3), 200.0f);
}

// Groups of two or four channels are taken together, with zeros between them, or stay as they are where they have enough.
TEST_F(GpuHalfConvolutions, NarrowGroupsAreTakenTogether) {
  const DearChains whatever_they_cost;  // of images as small as these
  struct Case {
    int groups, channels;  // of each
    const char* type;
  };
  for (const Case& c : {Case{32, 4, "f16"}, Case{6, 3, "bf16"}, Case{8, 8, "f16"}}) {
    if (!multiplies(*device_, c.type)) continue;
    const int all = c.groups * c.channels;
    const Graph graph = parse_graph(
        fmt::format("graph \"g\"(%x: f32[2,{0},9,7]) {{\n", all) +
            weights("w", fmt::format("{},{},3,3", all, c.channels), all * c.channels * 9) +
            weights("v", fmt::format("16,{},1,1", all), 16 * all) +
            fmt::format(R"(
  %r: f32[2,{0},9,7] = RoundTo(%x) {{to="{1}"}}
  %c: f32[2,{0},9,7] = Conv(%r, %w) {{pads=ints[1, 1, 1, 1], group={2}}}
  %cr: f32[2,{0},9,7] = RoundTo(%c) {{to="{1}"}}
  %d: f32[2,16,9,7] = Conv(%cr, %v)
  %y: f32[2,16,9,7] = RoundTo(%d) {{to="{1}"}}
  return %y
}})",
                        all, c.type, c.groups),
        find_op);
    EXPECT_THAT(kernels(graph), Not(Contains(HasSubstr("direct")))) << c.groups;
    const std::vector<Tensor> inputs = random_inputs(graph, 5);
    const f32 parts = c.type == std::string("f16") ? 200.0f : 25.0f;
    expect_near(graph, inputs, parts);
    const Tensor want = interpret(graph, inputs)[0];
    const s64 wider = for_each_kernel(
        graph, inputs, "grouped", 4, [&](const std::string& kernel, const auto& got) {
          const std::vector<f32> a = reals_of(got[0]), b = reals_of(want);
          const f32 largest =
              std::abs(*std::ranges::max_element(b, {}, [](f32 real) { return std::abs(real); }));
          for (size_t i = 0; i < b.size(); ++i)
            ASSERT_NEAR(a[i], b[i], largest / parts) << kernel << ' ' << i;
        });
    EXPECT_GE(wider, c.groups == 6 ? 1 : 2);
  }
}

// ResNeXt's first stage: on a chip that moves bytes fast casts around a convolution by CUDA cores cost little, and that itself takes 24 times as long as the product of groups.
TEST_F(GpuHalfConvolutions, NarrowGroupsOfALargeChipAreTakenTogether) {
  const std::vector<std::string> chip{"h200"};
  const cuda::WantedKernels wanted(chip);
  const Graph graph = parse_graph(
      "graph \"g\"(%x: f32[32,128,56,56]) {\n" + weights("w", "128,4,3,3", 128 * 36) +
          weights("u", "128,128,1,1", 128 * 128) + weights("v", "256,128,1,1", 256 * 128) + R"(
  %r: f32[32,128,56,56] = RoundTo(%x) {to="f16"}
  %a: f32[32,128,56,56] = Conv(%r, %u)
  %ar: f32[32,128,56,56] = RoundTo(%a) {to="f16"}
  %c: f32[32,128,56,56] = Conv(%ar, %w) {group=32, pads=ints[1, 1, 1, 1]}
  %cr: f32[32,128,56,56] = RoundTo(%c) {to="f16"}
  %d: f32[32,256,56,56] = Conv(%cr, %v)
  return %d
})",
      find_op);
  Target target = make_target("cpu", 1, nullptr);
  target.host = target.device, target.device = &wanted.device(0);
  EXPECT_THAT(kernel_names(plan_of(graph, target)),
              AllOf(Contains(StartsWith("grouped")), Not(Contains(HasSubstr("direct")))));
}

// A transposed convolution is a product for each phase of its outputs.
TEST_F(GpuHalfConvolutions, TransposedConvolutions) {
  const DearChains whatever_they_cost;  // of images as small as these
  struct Case {
    const char *kernel, *window;
    s64 height, width;  // of y
    int taps;
  };
  const Case cases[] = {
      {"2,2", "strides=ints[2, 2]", 10, 14, 4},
      {"4,4", "strides=ints[2, 2], pads=ints[1, 1, 1, 1]", 10, 14, 16},
      {"3,3", "strides=ints[2, 2], pads=ints[1, 1, 1, 1], output_padding=ints[1, 1]", 10, 14, 9},
      {"3,5", "strides=ints[1, 3], pads=ints[2, 4, 1, 0]", 4, 19, 15},
      {"6,3", "strides=ints[3, 3], pads=ints[5, 0, 4, 2]", 9, 19, 18},
  };
  for (const Case& c : cases) {
    const Graph graph =
        parse_graph("graph \"g\"(%x: f32[2,16,5,7]) {\n" +
                        weights("w", fmt::format("16,24,{}", c.kernel), 16 * 24 * c.taps) +
                        weights("v", "8,24,1,1", 8 * 24) +
                        fmt::format(R"(
  %r: f32[2,16,5,7] = RoundTo(%x) {{to="f16"}}
  %c: f32[2,24,{0},{1}] = ConvTranspose(%r, %w) {{{2}}}
  %cr: f32[2,24,{0},{1}] = RoundTo(%c) {{to="f16"}}
  %d: f32[2,8,{0},{1}] = Conv(%cr, %v)
  %y: f32[2,8,{0},{1}] = RoundTo(%d) {{to="f16"}}
  return %y
}})",
                                    c.height, c.width, c.window),
                    find_op);
    EXPECT_THAT(kernels(graph), Contains(StartsWith("conv_transpose_f16_terms1"))) << c.window;
    expect_near(graph, random_inputs(graph, 5), 200.0f);
  }
}

// Weights that two of them read are packed for the pads and strides of each.
TEST_F(GpuHalfConvolutions, TransposedConvolutionsOfOneWeight) {
  for (const char* order : {"%y, %z, %u", "%u, %z, %y"}) {
    const Graph graph =
        parse_graph("graph \"g\"(%x: f32[1,16,9,9]) {\n" + weights("w", "16,8,4,4", 16 * 8 * 16) +
                        fmt::format(R"(
  %y: f32[1,8,20,20] = ConvTranspose(%x, %w) {{strides=ints[2, 2]}}
  %z: f32[1,8,18,18] = ConvTranspose(%x, %w) {{strides=ints[2, 2], pads=ints[1, 1, 1, 1]}}
  %u: f32[1,8,36,36] = ConvTranspose(%x, %w) {{strides=ints[4, 4]}}
  return {}
}})",
                                    order),
                    find_op);
    EXPECT_THAT(kernels(graph), Contains(StartsWith("conv_transpose"))) << order;
    expect_near(graph, random_inputs(graph, 5), 1000.0f);
  }
}

// What no kernel of 16 bits takes is not stored in them, only to be widened again.
TEST_F(GpuHalfConvolutions, SeveralChannelsOfOneStayReals) {
  for (const int each : {2, 4}) {
    const int channels = 16 * each;
    const Graph graph =
        parse_graph("graph \"g\"(%x: f32[1,16,9,9]) {\n" +
                        weights("w", fmt::format("{},1,3,3", channels), channels * 9) +
                        weights("v", fmt::format("8,{},1,1", channels), 8 * channels) +
                        fmt::format(R"(
  %r: f32[1,16,9,9] = RoundTo(%x) {{to="f16"}}
  %c: f32[1,{0},7,7] = Conv(%r, %w) {{group=16}}
  %cr: f32[1,{0},7,7] = RoundTo(%c) {{to="f16"}}
  %d: f32[1,8,7,7] = Conv(%cr, %v)
  return %d
}})",
                                    channels),
                    find_op);
    // The next product reads 16 bits.
    EXPECT_THAT(kernels(graph), Contains("cast").Times(1)) << each;
    expect_near(graph, random_inputs(graph, 5), 200.0f);
  }
}

// The first layer of 16 bits and the pool behind it are one kernel: the largest of 3x3 numbers, or of their codes.
TEST_F(GpuHalfConvolutions, FirstLayersWithAPool) {
  std::string why;
  if (hopper(why) == nullptr) GTEST_SKIP() << why;
  const DearChains whatever_they_cost;  // of images as small as these
  for (const char* activation : {"activation=\"relu\", ", ""}) {
    for (const bool codes : {false, true}) {
      std::string text = "graph \"g\"(%x: f32[2,3,45,90]) {\n" + weights("w", "40,3,7,7", 5880) +
                         weights("b", "40", 40) +
                         fmt::format(R"(
  const %s: f32[] = {{0.125}}
  const %z: u8[] = {{100}}
  %h: f16[2,3,45,90] = Cast(%x) {{to="f16"}}
  %r: f32[2,3,45,90] = Cast(%h) {{to="f32"}}
  %c: f32[2,40,23,45] = Conv(%r, %w, %b) {{{}pads=ints[3, 3, 3, 3], strides=ints[2, 2]}}
)",
                                     activation);
      text += codes ? R"(
  %cr: f32[2,40,23,45] = RoundTo(%c) {to="f16"}
  %q: u8[2,40,23,45] = QuantizeLinear(%cr, %s, %z)
  %m: u8[2,40,12,23] = MaxPool(%q) {kernel_shape=ints[3, 3], strides=ints[2, 2], pads=ints[1, 1, 1, 1]}
  %y: f32[2,40,12,23] = DequantizeLinear(%m, %s, %z)
  return %y
})"
                    : R"(
  %q: f16[2,40,23,45] = Cast(%c) {to="f16"}
  %m: f16[2,40,12,23] = MaxPool(%q) {kernel_shape=ints[3, 3], strides=ints[2, 2], pads=ints[1, 1, 1, 1]}
  %y: f32[2,40,12,23] = Cast(%m) {to="f32"}
  return %y
})";
      const Graph graph = parse_graph(text, find_op);
      EXPECT_THAT(kernels(graph), Contains(HasSubstr("stem_f16_64_pool")));
      expect_near(graph, random_inputs(graph, 3), codes ? 50.0f : 500.0f);
    }
  }
}

// With stride 1 and with 2, each of an image of its own.
Graph of_one_constant(bool one, bool two) {
  std::string text =
      "graph \"g\"(%x: f32[1,3,20,20], %v: f32[1,3,20,20]) {\n" + weights("w", "16,3,4,4", 768);
  const auto layer = [&](const char* x, int stride, const char* y, int size) {
    text += fmt::format(R"(  %{0}h: f16[1,3,20,20] = Cast(%{0}) {{to="f16"}}
  %{0}r: f32[1,3,20,20] = Cast(%{0}h) {{to="f32"}}
  %{2}c: f32[1,16,{3},{3}] = Conv(%{0}r, %w) {{strides=ints[{1}, {1}]}}
  %{2}: f16[1,16,{3},{3}] = Cast(%{2}c) {{to="f16"}}
)",
                        x, stride, y, size);
  };
  if (one) layer("x", 1, "y", 17);
  if (two) layer("v", 2, "z", 9);
  text += one && two ? "return %y, %z\n}" : one ? "return %y\n}" : "return %z\n}";
  return parse_graph(text, find_op);
}

// Where blocks of pixels are pixels of many channels, one constant becomes other weights for each stride.
TEST_F(GpuHalfConvolutions, OneConstantOfTwoFirstLayers) {
  const DearChains whatever_they_cost;  // of images as small as these
  const Graph both = of_one_constant(true, true);
  std::string why;
  if (hopper(why) != nullptr) {
    EXPECT_THAT(kernels(both),
                AllOf(Contains(HasSubstr("folded_")).Times(1), Contains(HasSubstr("stem_f16"))));
  }
  const std::vector<Tensor> inputs = random_inputs(both, 3);
  const std::vector<Tensor> got = run_on(both, inputs, target());
  for (const size_t i : {0U, 1U}) {
    const Tensor want = run_on(of_one_constant(i == 0, i == 1), inputs, target())[0];
    EXPECT_EQ(std::memcmp(got[i].data(), want.data(), want.bytes()), 0) << i;
  }
}

}  // namespace
}  // namespace octet::test
