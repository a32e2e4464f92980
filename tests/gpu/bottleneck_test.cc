// SPDX-License-Identifier: Apache-2.0
// A bottleneck of ResNets as one kernel gives the bytes of its convolutions on the CPU.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "backends/backends.h"
#include "backends/cuda/device.h"
#include "codes_graph.h"
#include "one_node.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "plan/chain_testing.h"

namespace octet::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class Adds { nothing, x, projection };

// Codes that pass between two convolutions.
struct Codes {
  bool is_signed = false;
  s64 zero_point = 0;
};

struct BlockCase {
  s64 batch = 1, height = 5, width = 7, channels = 64, reduced = 64, spatial = 64, outputs = 64;
  Adds adds = Adds::x;
  Codes x{}, reduced_codes{}, spatial_codes{}, projected{}, y{};
  bool sum = false;         // the shortcut is added to the codes of the expansion
  bool large_bias = false;  // of one channel
  bool clamps = false;
  s64 stride = 1;

  std::string text() const {
    return fmt::format("{}x{}x{}x{} -> {} -> {} -> {}, adds {}, x {} {}, y {} {}{}{}", batch,
                       channels, height, width, reduced, spatial, outputs, static_cast<int>(adds),
                       x.is_signed, x.zero_point, y.is_signed, y.zero_point, sum ? ", sum" : "",
                       large_bias ? ", large bias" : "");
  }
};

class BlockGraph : public CodesGraph {
 public:
  BlockGraph(const BlockCase& c, u32 seed) : CodesGraph(seed), case_(c) {
    const ValueId x = input("x", {c.batch, c.channels, c.height, c.width}, c.x.is_signed);
    const ValueId reduced = conv("reduce", x, c.x, c.reduced, 1, c.reduced_codes);
    ValueId shortcut = c.adds == Adds::x ? x : kNoValue;
    if (c.adds == Adds::projection) shortcut = conv("project", x, c.x, c.outputs, 1, c.projected);
    const ValueId spatial =
        conv("spatial", reduced, c.reduced_codes, c.spatial, 3, c.spatial_codes);
    const ValueId y = conv("expand", spatial, c.spatial_codes, c.outputs, 1, c.y, shortcut);
    graph_.outputs = {y};
  }

 private:
  static Dtype dtype(const Codes& codes) { return codes_of(codes.is_signed); }

  ValueId conv(const std::string& name, ValueId x, const Codes& from, s64 outputs, s64 kernel,
               const Codes& to, ValueId shortcut = kNoValue) {
    const Shape& in = graph_.value(x).type.shape;
    const s64 depth = in[1] * kernel * kernel, pad = kernel / 2;
    const s64 stride = kernel == 3 ? case_.stride : 1;
    const Shape y{in[0], outputs, (in[2] - 1) / stride + 1, (in[3] - 1) / stride + 1};
    const f32 spread = 0.015f / std::sqrt(static_cast<f32>(depth));
    Node node;
    node.op = find_op("QConv");
    node.name = name;
    node.inputs = {x,
                   constant<s8>(name + ".w", {outputs, in[1], kernel, kernel},
                                [&] { return static_cast<s8>(random_() % 255 - 127); }),
                   constant<s32>(name + ".b", {outputs},
                                 [&, c = s64{0}]() mutable {
                                   const s32 bias = static_cast<s32>(random_() % 60000) - 30000;
                                   return ++c == outputs && case_.large_bias ? 2'000'000 : bias;
                                 }),
                   // Powers of two make ties.
                   constant<f32>(name + ".m", {outputs}, [&] {
                     return random_() % 4 == 0
                                ? std::exp2(std::round(std::log2(spread)))
                                : spread * (0.5f + 0.001f * static_cast<f32>(random_() % 1000));
                   })};
    node.attrs.set("pads", std::vector<s64>{pad, pad, pad, pad});
    node.attrs.set("strides", std::vector<s64>{stride, stride});
    node.attrs.set("dilations", std::vector<s64>{1, 1});
    node.attrs.set("group", s64{1});
    set_end(node, from, to, shortcut);
    const ValueId result = graph_.add_value(name + ".y", {dtype(to), y});
    node.outputs = {result};
    graph_.nodes.push_back(std::move(node));
    return result;
  }

  void set_end(Node& node, const Codes& from, const Codes& to, ValueId shortcut) {
    std::vector<s64> zero_points{from.zero_point};
    const Codes& added = case_.adds == Adds::x ? case_.x : case_.projected;
    const bool sums = shortcut != kNoValue && case_.sum;
    const CodeRange all = code_range(dtype(to)), own = sums ? code_range(Dtype::u8) : all;
    if (shortcut != kNoValue) {
      const size_t place = sums ? kProductAddend : kProductResidual;
      node.inputs.resize(place + 1, kNoValue);
      node.inputs[place] = shortcut;
      zero_points.resize(place + 1);
      zero_points[place] = added.zero_point;
      if (!sums) node.attrs.set("residual_multiplier", 0.7319f);
    }
    node.attrs.set("input_zero_points", zero_points);
    node.attrs.set("output_dtype", std::string(to.is_signed && !sums ? "s8" : "u8"));
    const s64 zero_point = sums ? 120 : to.zero_point;
    node.attrs.set("output_zero_point", zero_point);
    node.attrs.set("lo", s64{case_.clamps ? own.lo + 9 : own.lo});
    node.attrs.set("hi", s64{case_.clamps ? own.hi - 20 : own.hi});
    if (!sums) return;
    node.attrs.set("sum_dtype", std::string(to.is_signed ? "s8" : "u8"));
    node.attrs.set("sum_multipliers", std::vector<f32>{0.61f, 0.37f});
    node.attrs.set("sum_zero_point", to.zero_point);
    node.attrs.set("sum_lo", s64{all.lo}), node.attrs.set("sum_hi", s64{all.hi});
    node.attrs.set("sum_own_zero_point", zero_point);
    node.attrs.set("sum_addend_first", case_.batch % 2);
  }

  const BlockCase case_;
};

template <size_t N>
s64 any_of(std::mt19937& random, const s64 (&values)[N]) {
  return values[random() % N];
}

Codes any_codes(std::mt19937& random) {
  Codes codes{.is_signed = random() % 2 == 0};
  if (random() % 2) codes.zero_point = codes.is_signed ? -37 : 117;
  return codes;
}

BlockCase any_case(std::mt19937& random, bool small) {
  BlockCase c;
  c.batch = any_of(random, {1, 3, 2});
  c.height = small ? any_of(random, {1, 2, 5}) : any_of(random, {1, 3, 14, 56});
  c.width = small ? any_of(random, {8, 3, 13, 20}) : any_of(random, {8, 31, 56, 62, 64});
  c.channels = small ? any_of(random, {16, 64, 48}) : any_of(random, {64, 128, 256, 80});
  c.reduced = any_of(random, {64, 32, 64, 20});
  c.spatial = any_of(random, {64, 32, 64, 7});
  c.adds = static_cast<Adds>(random() % 3);
  if (c.adds == Adds::projection) c.channels = std::min<s64>(c.channels, 128);
  c.outputs = c.adds == Adds::x ? c.channels
              : small           ? any_of(random, {32, 100})
                                : any_of(random, {256, 64, 100, 192});
  for (Codes* codes : {&c.x, &c.reduced_codes, &c.spatial_codes, &c.projected, &c.y})
    *codes = any_codes(random);
  c.sum = c.adds != Adds::nothing && random() % 4 == 0;
  c.large_bias = random() % 4 == 0;
  c.clamps = random() % 3 == 0;
  return c;
}

// Whether the one kernel is chosen; then its bytes are compared.
bool is_one_kernel(const BlockCase& c, u32 seed, const Device& device) {
  const BlockGraph graph(c, seed);
  const Target target = make_target(device.name(), 1, nullptr);
  const Plan plan = make_plan(graph.graph(), graph.shapes(), target);
  if (std::ranges::none_of(
          plan.steps, [](const PlanStep& step) { return step.kernel.starts_with("bottleneck"); }))
    return false;
  std::vector<std::string> kernels;
  expect_cpu_bytes(graph.graph(), 0, graph.inputs(), c.text(), kernels);
  EXPECT_THAT(kernels, Each(StartsWith("bottleneck"))) << c.text();
  return true;
}

std::string reason_of(const BlockCase& c, const Device& device) {
  const BlockGraph graph(c, 1);
  const Target target = make_target(device.name(), 1, nullptr);
  const Plan plan = make_plan(graph.graph(), graph.shapes(), target);
  EXPECT_GT(plan.steps.size(), 1u);
  for (const PlanStep& step : plan.steps) {
    for (const std::string& reject : step.rejects) {
      if (reject.starts_with("bottleneck: ")) return reject;
    }
  }
  return "";
}

// For the weights of ResNets' blocks, as all have but Turing.
bool has_room(const Device& device) {
  return cuda::cuda_device(&device).chip().shared_bytes_per_block >= (99 << 10);
}

constexpr int kBlockSlices = 2;  // tests of their own, which processes may share

class GpuBottleneck : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Slices, GpuBottleneck, testing::Range(0, kBlockSlices));

TEST_P(GpuBottleneck, GivesTheBytesOfItsConvolutions) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const int count = case_count(60);
  int taken = 0, left = 0;
  for (int i = GetParam(); i < count; i += kBlockSlices) {
    std::mt19937 random(static_cast<u32>(i));
    const BlockCase c = any_case(random, is_emulated(*device));
    const DearChains whatever_it_costs;
    (is_one_kernel(c, static_cast<u32>(i) + 1000, *device) ? taken : left) += 1;
  }
  // In little memory few of the large ones have room for their weights: OfFewChannels is taken there.
  const bool large = !is_emulated(*device);
  EXPECT_TRUE(taken > left / 4 || taken + left == 0 || (large && !has_room(*device)));
}

// Whose weights every chip has room for.
TEST(GpuBottleneck, OfFewChannels) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const DearChains whatever_it_costs;
  for (const Adds adds : {Adds::nothing, Adds::x, Adds::projection}) {
    BlockCase c{.batch = 2, .height = 5, .width = 13, .channels = 48, .reduced = 20, .spatial = 32};
    c.outputs = adds == Adds::x ? c.channels : 32;
    c.adds = adds;
    c.x.zero_point = 117, c.y = {.is_signed = true, .zero_point = -37};
    EXPECT_TRUE(is_one_kernel(c, 5, *device)) << c.text();
  }
}

TEST(GpuBottleneck, OfResNetsFirstLayers) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const DearChains whatever_they_cost;  // of one image the parts may take less time
  const bool small = is_emulated(*device);
  BlockCase identity{.batch = small ? 1 : 8, .height = small ? 3 : 56, .width = 56, .outputs = 256};
  BlockCase first = identity;
  identity.channels = 256;
  first.adds = Adds::projection;
  first.projected.is_signed = true;
  if (!has_room(*device)) {
    EXPECT_THAT(reason_of(first, *device), HasSubstr("do not fit the chip"));
    return;
  }
  EXPECT_TRUE(is_one_kernel(first, 1, *device));
  EXPECT_TRUE(is_one_kernel(identity, 2, *device));
}

// Many rows for each group of warps: every place of its rings is written again.
TEST(GpuBottleneck, RowsTakePlacesOfEarlierOnes) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const DearChains whatever_it_costs;
  const BlockCase c{.batch = 2, .height = 40, .width = 20};
  EXPECT_TRUE(is_one_kernel(c, 3, *device));
}

TEST(GpuBottleneck, SaysWhatItDoesNotTake) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  EXPECT_THAT(reason_of({.width = 65}, *device), HasSubstr("a row has 65 pixels, at most 64"));
  EXPECT_THAT(reason_of({.reduced = 72}, *device), HasSubstr("72 channels pass"));
  EXPECT_THAT(reason_of({.outputs = 320, .adds = Adds::nothing}, *device),
              HasSubstr("320 output channels"));
  EXPECT_THAT(reason_of({.channels = 144, .adds = Adds::projection}, *device),
              HasSubstr("144 input channels"));
  EXPECT_THAT(reason_of({.channels = 24, .adds = Adds::nothing}, *device),
              HasSubstr("not a multiple of 16"));
  EXPECT_THAT(reason_of({.adds = Adds::nothing, .stride = 2}, *device), HasSubstr("a stride"));
}

}  // namespace
}  // namespace octet::test
