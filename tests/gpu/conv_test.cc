// SPDX-License-Identifier: Apache-2.0
// QConv on a GPU: every kernel that takes a convolution gives the CPU's bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "codes_graph.h"
#include "compile_only.h"
#include "fine_lines.h"
#include "graph/interpret.h"
#include "one_node.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "plan/bind.h"

namespace octet::test {
namespace {

struct ConvCase {
  s64 batch = 1, channels = 64, height = 14, width = 14, outputs = 64;
  s64 kernel = 3, stride = 1, dilation = 1, pad = 1, groups = 1;
  bool x_s8 = false, y_s8 = false, residual = false, table = false, real = false, sum = false;
  std::optional<Lines> fine = {};  // of which the table is
  s64 zero_x = 0, zero_y = 0;

  s64 out(s64 in) const { return (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
  std::string text() const {
    return fmt::format(
        "{}x{}x{}x{} -> {}, kernel {}, stride {}, dilation {}, pad {}, groups {}{}{}{}{}{}{}, zero "
        "points {} {}",
        batch, channels, height, width, outputs, kernel, stride, dilation, pad, groups,
        x_s8 ? ", s8" : "", y_s8 ? " to s8" : "", residual ? ", residual" : "",
        fine    ? ", lines"
        : table ? ", table"
                : "",
        real ? ", real" : "", sum ? ", sum" : "", zero_x, zero_y);
  }
};

class ConvGraph : public CodesGraph {
 public:
  ConvGraph(const ConvCase& c, u32 seed) : CodesGraph(seed), case_(c) {
    const s64 depth = c.channels / c.groups * c.kernel * c.kernel;
    const f32 spread = (c.fine ? 5.0f : 0.02f) / std::sqrt(static_cast<f32>(depth));
    const Shape y{c.batch, c.outputs, c.out(c.height), c.out(c.width)};
    node_.op = find_op("QConv");
    node_.name = "conv";
    node_.inputs = {
        input("x", {c.batch, c.channels, c.height, c.width}, c.x_s8),
        constant<s8>("w", {c.outputs, c.channels / c.groups, c.kernel, c.kernel},
                     [&] { return static_cast<s8>(random_() % 255 - 127); }),
        constant<s32>("b", {c.outputs}, [&] { return static_cast<s32>(random_() % 6000) - 3000; }),
        // Powers of two make ties.
        constant<f32>("m", {c.outputs}, [&] {
          return random_() % 4 == 0 ? std::exp2(std::round(std::log2(spread)))
                                    : spread * (0.5f + 0.001f * static_cast<f32>(random_() % 1000));
        })};
    if (c.residual) place(kProductResidual, input("r", y, c.y_s8));
    if (c.table && !c.fine)
      place(kProductTable, constant<u8>("t", {256}, [&] { return static_cast<u8>(random_()); }));
    if (c.sum) place(kProductAddend, input("a", y, c.y_s8));
    set_attributes();
    const Dtype codes = c.y_s8 && !c.sum ? Dtype::s8 : Dtype::u8;
    const ValueId result = graph_.add_value("y", {c.real               ? Dtype::f32
                                                  : c.table && !c.fine ? Dtype::u8
                                                                       : codes,
                                                  y});
    node_.outputs = {result};
    graph_.nodes.push_back(std::move(node_));
    graph_.outputs = {result};
  }

 private:
  void set_attributes() {
    const ConvCase& c = case_;
    Attrs& attrs = node_.attrs;
    attrs.set("pads", std::vector<s64>{c.pad, c.pad, c.pad, c.pad});
    attrs.set("strides", std::vector<s64>{c.stride, c.stride});
    attrs.set("dilations", std::vector<s64>{c.dilation, c.dilation});
    attrs.set("group", c.groups);
    const s64 other = c.y_s8 ? -3 : 5;
    attrs.set("input_zero_points",
              std::vector<s64>{c.zero_x, 0, 0, 0, c.residual ? other : 0, 0, c.sum ? other : 0});
    attrs.set("output_dtype", std::string(c.real ? "f32" : c.y_s8 && !c.sum ? "s8" : "u8"));
    if (c.residual) attrs.set("residual_multiplier", 0.7319f);
    if (c.sum) {
      attrs.set("sum_dtype", std::string("u8"));
      attrs.set("sum_multipliers", std::vector<f32>{0.61f, 0.37f});
      attrs.set("sum_zero_point", s64{11}), attrs.set("sum_lo", s64{0}),
          attrs.set("sum_hi", s64{255});
      attrs.set("sum_own_zero_point", c.zero_y);
      attrs.set("sum_addend_first", s64{c.batch % 2});
    }
    if (c.real) return;
    const CodeRange range = code_range(c.y_s8 && !c.sum ? Dtype::s8 : Dtype::u8);
    attrs.set("output_zero_point", c.zero_y);
    attrs.set("lo", s64{random_() % 3 == 0 ? range.lo + 7 : range.lo});
    attrs.set("hi", s64{random_() % 3 == 0 ? range.hi - 20 : range.hi});
    if (c.fine) set_lines(range);
  }

  void set_lines(const CodeRange& range) {
    node_.attrs.set("fine_zero_point", static_cast<s64>(random_() % kFineCodes));
    place(kProductTable, graph_.add_constant(
                             "t", random_lines(random_, *case_.fine, range.lo + 7, range.hi - 20)));
  }

  void place(size_t i, ValueId value) {
    if (node_.inputs.size() <= i) node_.inputs.resize(i + 1, kNoValue);
    node_.inputs[i] = value;
  }

  const ConvCase case_;
  Node node_;
};

template <size_t N>
s64 any(std::mt19937& random, const s64 (&values)[N]) {
  return values[random() % N];
}

ConvCase random_case(std::mt19937& random, bool small) {
  constexpr s64 kChannels[] = {16, 32, 48, 64, 80, 96, 128, 192, 256, 3, 8, 24, 20};
  constexpr s64 kOutputs[] = {8, 16, 24, 32, 64, 100, 128, 192, 255, 256, 320, 21};
  constexpr s64 kSizes[] = {7, 14, 28, 17, 30, 56, 9};
  constexpr s64 kSmall[] = {3, 8, 16, 24, 32};
  constexpr s64 kSmallSizes[] = {5, 7, 9};
  ConvCase c;
  c.channels = small ? any(random, kSmall) : any(random, kChannels);
  c.outputs = small ? any(random, kSmall) : any(random, kOutputs);
  c.height = small ? any(random, kSmallSizes) : any(random, kSizes);
  c.width = random() % 2 ? c.height : c.height + 3;
  c.batch = any(random, {1, 3, 8});
  c.kernel = any(random, {1, 3, 3, 1, 5, 3});
  c.pad = random() % 4 == 0 ? 0 : c.kernel / 2;
  c.stride = any(random, {1, 1, 2});
  c.dilation = c.kernel > 1 && random() % 6 == 0 ? 2 : 1;
  if (random() % 5 == 0) {
    c.outputs = c.channels;
    c.groups = random() % 2 || c.channels % 4 != 0 ? c.channels : 4;
  }
  c.x_s8 = random() % 2;
  c.zero_x = random() % 2 ? 0 : c.x_s8 ? -37 : 117;
  c.real = random() % 8 == 0;
  c.table = !c.real && random() % 6 == 0;
  c.sum = !c.real && random() % 5 == 0;
  c.y_s8 = random() % 2;
  c.residual = !c.sum && random() % 3 == 0;
  if (c.table && c.sum) c.y_s8 = false;
  c.zero_y = c.real || random() % 2 ? 0 : c.y_s8 && !c.sum ? -9 : 17;
  return c;
}

// By each kernel that takes one of them.
TEST(GpuConvLines, EveryKernelGivesTheBytesOfTheCpu) {
  std::string why;
  if (gpu_device(why) == nullptr) GTEST_SKIP() << why;
  const ConvCase pointwise{
      .channels = 32, .height = 7, .width = 9, .outputs = 32, .kernel = 1, .pad = 0, .table = true};
  ConvCase signed_codes = pointwise, sum = pointwise, window = pointwise, grouped = pointwise,
           depthwise = pointwise;
  signed_codes.x_s8 = signed_codes.y_s8 = signed_codes.residual = true;
  sum.sum = true, sum.zero_y = 17;
  window.kernel = 3, window.pad = 1, window.zero_x = 117, window.outputs = 48;
  grouped.kernel = 3, grouped.pad = 1, grouped.groups = 8;
  depthwise.kernel = 5, depthwise.pad = 2, depthwise.groups = 32;
  std::vector<std::string> kernels;
  u32 seed = 0;
  for (ConvCase c :
       {pointwise, pointwise, pointwise, signed_codes, sum, window, grouped, depthwise}) {
    c.fine = kEveryLines[seed % std::size(kEveryLines)];
    const ConvGraph graph(c, ++seed);
    expect_bytes(graph.graph(), 0, graph.inputs(),
                 {interpret(graph.graph(), graph.inputs()), c.text()}, kernels);
  }
}

constexpr int kSlices = 12;  // tests of their own, which processes may share

class GpuConv : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Slices, GpuConv, testing::Range(0, kSlices));

TEST_P(GpuConv, EveryKernelGivesTheBytesOfTheCpu) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const int count = case_count(60);
  std::vector<std::string> kernels;
  for (int i = GetParam(); i < count; i += kSlices) {
    std::mt19937 random(static_cast<u32>(i));
    const ConvCase c = random_case(random, is_emulated(*device));
    if (c.out(c.height) < 1 || c.out(c.width) < 1) continue;
    const ConvGraph graph(c, static_cast<u32>(i) + 1000);
    try {
      expect_cpu_bytes(graph.graph(), 0, graph.inputs(), fmt::format("case {}: {}", i, c.text()),
                       kernels);
    } catch (const std::exception& error) {
      FAIL() << "case " << i << ": " << c.text() << ": " << error.what();
    }
  }
  std::ranges::sort(kernels);
  const auto end = std::unique(kernels.begin(), kernels.end());
  RecordProperty("kernels", static_cast<int>(end - kernels.begin()));
  std::printf("%d kernels:", static_cast<int>(end - kernels.begin()));
  for (auto at = kernels.begin(); at != end; ++at) std::printf(" %s", at->c_str());
  std::printf("\n");
}

// Of each step that such a kernel takes the first of those; how many steps it takes.
Plan with_family(Plan plan, const std::string& family, int& steps) {
  steps = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const std::vector<Candidate> kernels = plan.steps[i].kernels;
    const auto found = std::ranges::find_if(
        kernels, [&](const Candidate& candidate) { return candidate.kernel.starts_with(family); });
    if (found == kernels.end()) continue;
    plan = with_kernel(std::move(plan), i, *found);
    ++steps;
  }
  return plan;
}

// What a device keeps of shared weights belongs to a layer's window and to what ends its products as well. By the kernels of a family, or by those that are chosen.
void expect_shared_weights(const ConvCase& c, const std::function<void(Graph&, Node&)>& change,
                           const std::string& family = {}) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const ConvGraph one(c, 7);
  Graph graph = one.graph();
  Node other = graph.nodes[0];
  other.name = "other";
  change(graph, other);
  const ValueId result = graph.add_value("z", graph.value(graph.outputs[0]).type);
  other.outputs = {result};
  graph.nodes.push_back(std::move(other));
  graph.outputs.push_back(result);
  Target target = make_target(device->name(), 1, nullptr);
  target.keep_others = !family.empty();
  Plan plan = make_plan(graph, one.shapes(), target);
  if (!family.empty()) {
    int steps = 0;
    plan = with_family(std::move(plan), family, steps);
    EXPECT_EQ(steps, 2) << c.text();
  }
  if (only_compiles()) {
    compile_kernels(plan);
    return;
  }
  const std::vector<Tensor> want = interpret(graph, one.inputs()),
                            got = run_plan(std::move(plan), one.inputs(), target);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0)
        << c.text() << ", output " << i;
}

TEST(GpuConv, BranchesThatShareWeightsHaveTheirOwnEdges) {
  for (const s64 groups : {1, 4}) {
    expect_shared_weights(
        {.channels = 32, .height = 9, .width = 9, .outputs = 32, .groups = groups, .zero_x = 117},
        [](Graph&, Node& dilated) {
          dilated.attrs.set("pads", std::vector<s64>{2, 2, 2, 2});
          dilated.attrs.set("dilations", std::vector<s64>{2, 2});
        });
  }
}

// Tiles of any size, and windows of any dilation, read the same words of taps.
TEST(GpuConv, DepthwiseTilesShareWeights) {
  for (const s64 size : {9, 23}) {
    expect_shared_weights(
        {.batch = 4,
         .channels = 40,
         .height = size,
         .width = size,
         .outputs = 40,
         .kernel = 7,
         .pad = 3,
         .groups = 40,
         .zero_x = 117},
        [](Graph&, Node& dilated) {
          dilated.attrs.set("pads", std::vector<s64>{6, 6, 6, 6});
          dilated.attrs.set("dilations", std::vector<s64>{2, 2});
        },
        "depthwise_tile");
  }
}

TEST(GpuConv, BranchesThatShareWeightsHaveTheirOwnEnds) {
  for (const s64 groups : {1, 4}) {
    expect_shared_weights(
        {.channels = 32, .height = 9, .width = 9, .outputs = 32, .groups = groups},
        [](Graph& graph, Node& other) {
          for (const size_t i : {2u, 3u}) {  // bias, multipliers
            Tensor changed = graph.value(other.inputs[i]).constant.clone();
            if (i == 2) std::ranges::reverse(changed.mutable_as<s32>());
            if (i == 3) std::ranges::reverse(changed.mutable_as<f32>());
            const ValueId id = graph.add_value(fmt::format("other {}", i), changed.type());
            graph.value(id).constant = std::move(changed);
            other.inputs[i] = id;
          }
        });
  }
}

// The last word of four channels is not full, and accesses are as wide as the channels allow.
TEST(GpuConv, DepthwiseOfAnyChannels) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  std::vector<std::string> kernels;
  for (const s64 channels : {1, 2, 7, 10}) {
    ConvCase c{.batch = 2, .channels = channels, .height = 9, .width = 11, .outputs = channels};
    c.groups = channels;
    c.x_s8 = channels % 2 == 0, c.zero_x = 7, c.zero_y = 3;
    c.residual = channels > 2, c.sum = channels == 2, c.real = channels == 1;
    const ConvGraph graph(c, static_cast<u32>(channels));
    expect_cpu_bytes(graph.graph(), 0, graph.inputs(), c.text(), kernels);
  }
  EXPECT_TRUE(std::ranges::any_of(
      kernels, [](const std::string& kernel) { return kernel.starts_with("depthwise"); }));
}

// More steps of k than stages of shared memory: each is filled again while products go on.
TEST(GpuConv, StagesAreFilledAgain) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  std::vector<std::string> kernels;
  for (const s64 kernel : {1, 3}) {
    const ConvCase c{.channels = kernel == 1 ? 2048 : 256,
                     .height = 4,
                     .width = 4,
                     .outputs = 32,
                     .kernel = kernel,
                     .pad = kernel / 2};
    const ConvGraph graph(c, static_cast<u32>(kernel));
    expect_cpu_bytes(graph.graph(), 0, graph.inputs(), c.text(), kernels);
  }
}

// Neighbouring pixels of a 1x1 convolution are one row of a product where that makes whole 16 bytes.
TEST(GpuConv, PixelsOfFewChannelsAreJoined) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  std::vector<std::string> kernels;
  ConvCase c{.batch = 2, .channels = 24, .height = 8, .width = 6, .outputs = 24};
  c.kernel = 1, c.pad = 0;
  c.x_s8 = true, c.zero_x = 5, c.zero_y = 2;
  const ConvGraph graph(c, 24);
  expect_cpu_bytes(graph.graph(), 0, graph.inputs(), c.text(), kernels);
  EXPECT_TRUE(std::ranges::any_of(
      kernels, [](const std::string& kernel) { return kernel.starts_with("joined"); }));
}

// What the kernels of a graph's one node keep on the device, by kernel.
std::map<std::string, std::vector<Preparation>> kept_by_kernel(const Device& device,
                                                               const Graph& graph, s64 images) {
  Target target = make_target(device.name(), 1, nullptr);
  target.keep_others = true;
  Graph sized = graph;  // with the constants of the other
  for (const ValueId id : {graph.inputs[0], graph.outputs[0]})
    sized.value(id).type.shape[0] = images;
  const Plan plan = plan_of(sized, target);
  std::map<std::string, std::vector<Preparation>> kept;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (const Candidate& candidate : plan.steps[i].kernels) {
      const Plan one = with_kernel(plan, i, candidate);
      std::vector<Preparation> all = candidate.prepare(placements(one, one.steps[i]));
      std::erase_if(all, [](const Preparation& each) { return each.constants.empty(); });
      kept[candidate.kernel] = std::move(all);
    }
  }
  return kept;
}

// Each batch size has a plan of its own; what they keep of the weights is one copy, though joined pixels have weights that no graph has.
TEST(GpuConv, JoinedPixelsOfAnyBatchKeepTheSameWeights) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  ConvCase c{.batch = 4, .channels = 24, .height = 8, .width = 6, .outputs = 24};
  c.kernel = 1, c.pad = 0, c.zero_x = 5;
  const ConvGraph graph(c, 24);
  const auto some = kept_by_kernel(*device, graph.graph(), 4);
  const auto others = kept_by_kernel(*device, graph.graph(), 8);
  std::map<std::string, std::string> joins;  // of each key how many pixels are one
  for (const auto& [kernel, kept] : some) {
    if (!kernel.starts_with("joined") || !others.contains(kernel)) continue;
    const std::vector<Preparation>& other = others.at(kernel);
    ASSERT_EQ(kept.size(), other.size()) << kernel;
    const std::string pixels = kernel.substr(0, kernel.find('_'));
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i].key, other[i].key) << kernel;
      EXPECT_TRUE(
          std::ranges::equal(kept[i].constants, other[i].constants,
                             [](const Tensor& a, const Tensor& b) { return a.data() == b.data(); }))
          << kernel << ": " << kept[i].key;
      EXPECT_EQ(joins.try_emplace(kept[i].key, pixels).first->second, pixels) << kept[i].key;
    }
  }
  EXPECT_GE(joins.size(), 2u * 3u);  // weights, biases and multipliers, of two pixels and of four
}

// 81 taps of three channels, each byte of which comes by itself.
TEST(GpuConv, LargeWindowsOfThreeChannels) {
  std::string why;
  if (gpu_device(why) == nullptr) GTEST_SKIP() << why;
  std::vector<std::string> kernels;
  for (const s64 channels : {3, 2}) {
    ConvCase c{.batch = 2, .channels = channels, .height = 7, .width = 9, .outputs = 32};
    c.kernel = 9, c.pad = 4, c.zero_x = 5;
    const ConvGraph graph(c, 81);
    expect_cpu_bytes(graph.graph(), 0, graph.inputs(), c.text(), kernels);
  }
  EXPECT_TRUE(std::ranges::any_of(
      kernels, [](const std::string& kernel) { return kernel.starts_with("conv_mma"); }));
}

// The accelerator describes no tensors without elements: the host computes what is padding alone.
TEST(GpuConv, ImagesOfPaddingAlone) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  if (only_compiles()) GTEST_SKIP() << "nothing runs here";
  const ConvCase c{
      .channels = 16, .height = 0, .width = 5, .outputs = 16, .kernel = 1, .zero_x = 9};
  const ConvGraph graph(c, 3);
  const auto run = [&](std::string_view name) {
    return run_on(graph.graph(), graph.inputs(), make_target(name, 1, nullptr))[0];
  };
  const Tensor want = run("cpu"), got = run(device->name());
  ASSERT_GT(want.bytes(), 0u);
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
}

// Groups of few channels, whose rows nobody brings at once, are fewer and wider with zeros between them.
TEST(GpuConv, NarrowGroupsAreTakenTogether) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  std::vector<std::string> kernels;
  for (const s64 groups : {2, 8}) {
    ConvCase c{.batch = 2, .channels = 32, .height = 6, .width = 7, .outputs = 48};
    c.groups = groups;
    c.x_s8 = groups == 2, c.zero_x = 5, c.zero_y = 2, c.residual = groups == 8;
    const ConvGraph graph(c, static_cast<u32>(groups));
    expect_cpu_bytes(graph.graph(), 0, graph.inputs(), c.text(), kernels);
  }
  EXPECT_TRUE(std::ranges::any_of(
      kernels, [](const std::string& kernel) { return kernel.starts_with("grouped"); }));
}

}  // namespace
}  // namespace octet::test
