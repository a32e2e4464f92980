// SPDX-License-Identifier: Apache-2.0
// Channels that are split, kept and joined again on a GPU: what lies in its place is not copied, and gives the reference's bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/engine.h"
#include "on_gpu.h"
#include "one_node.h"
#include "ops/registry.h"
#include "plan/chain_testing.h"
#include "runtime/context.h"
#include "runtime/device_memory_testing.h"
#include "runtime/inside.h"

namespace octet::test {
namespace {

constexpr s64 kHeight = 5, kWidth = 6;

// Depthwise convolutions of 16 bits, whose kernels give the reference's bits, and what stands between them.
class Blocks {
 public:
  explicit Blocks(s64 channels) : text_(fmt::format("graph \"g\"(%x: {}) {{\n", type(channels))) {
    convolve("h", "x", channels);
  }
  // Of images that come with their channels last.
  static Blocks of_channels_last(s64 channels) {
    Blocks blocks;
    blocks.text_ = fmt::format(
        "graph \"g\"(%x: f16[2,{0},{1},{2}]) {{\n"
        "  %h: {3} = Transpose(%x) {{perm=ints[0, 3, 1, 2]}}\n",
        kHeight, kWidth, channels, type(channels));
    return blocks;
  }

  static std::string type(s64 channels) {
    return fmt::format("f16[2,{},{},{}]", channels, kHeight, kWidth);
  }

  void convolve(const std::string& to, const std::string& from, s64 channels) {
    const std::string reals = "f32" + type(channels).substr(3);
    std::string weights;
    for (s64 i = 0; i < channels * 9; ++i)
      weights += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<double>(i * 7 % 13 - 6) / 8);
    text_ += fmt::format("  const %{}w: f32[{},1,3,3] = {{{}}}\n", to, channels, weights);
    text_ += fmt::format("  %{0}r: {1} = Cast(%{2}) {{to=\"f32\"}}\n", to, reals, from);
    text_ += fmt::format("  %{0}s: {1} = Conv(%{0}r, %{0}w) {{group={2}, pads=ints[1, 1, 1, 1]}}\n",
                         to, reals, channels);
    text_ += fmt::format("  %{0}: {1} = Cast(%{0}s) {{to=\"f16\"}}\n", to, type(channels));
  }
  void slice(const std::string& to, const std::string& from, s64 first, s64 channels) {
    text_ += fmt::format(
        "  const %{0}b: s64[1] = {{{2}}}\n  const %{0}e: s64[1] = {{{3}}}\n  const %{0}a: s64[1] = "
        "{{1}}\n"
        "  %{0}: {4} = Slice(%{1}, %{0}b, %{0}e, %{0}a)\n",
        to, from, first, first + channels, type(channels));
  }
  void split(const std::vector<std::pair<std::string, s64>>& to, const std::string& from) {
    std::string results, sizes;
    for (const auto& [name, channels] : to) {
      results += fmt::format("{}%{}: {}", results.empty() ? "" : ", ", name, type(channels));
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", channels);
    }
    text_ += fmt::format("  const %{}z: s64[{}] = {{{}}}\n  {} = Split(%{}, %{}z) {{axis=1}}\n",
                         from, to.size(), sizes, results, from, from);
  }
  void join(const std::string& to, const std::vector<std::string>& from, s64 channels) {
    std::string all;
    for (const std::string& part : from) all += (all.empty() ? "%" : ", %") + part;
    text_ += fmt::format("  %{}: {} = Concat({}) {{axis=1}}\n", to, type(channels), all);
  }

  Graph graph(const std::string& last) const {
    return parse_graph(text_ + fmt::format("  return %{}\n}}\n", last), find_op);
  }

 private:
  Blocks() = default;

  std::string text_;
};

class GpuChannels : public OnGpu {
 protected:
  Plan plan(const Graph& graph) const {
    return plan_of(graph, make_target(device_->name(), 1, nullptr));
  }

  // Values of steps with the kernel that lie in memory of their own, beside what they hold.
  static std::vector<std::string> copied(const Plan& plan) {
    std::vector<std::string> names;
    size_t steps = 0;
    const auto is_view = [&](u32 b, u32 of) {
      const auto root = [&](u32 i) {
        return plan.buffers[i].same_as == kNoBuffer ? i : plan.buffers[i].same_as;
      };
      return root(b) == root(of);
    };
    for (const PlanStep& step : plan.steps) {
      const bool joins = step.candidate.kernel == "concat_channels";
      if (!joins && step.candidate.kernel != "slice" && step.candidate.kernel != "split") continue;
      ++steps;
      for (const u32 b : joins ? step.inputs : step.outputs) {
        if (!is_view(b, joins ? step.outputs[0] : step.inputs[0]))
          names.push_back(plan.graph.value(plan.buffers[b].value).name);
      }
    }
    EXPECT_GT(steps, 0U);
    return names;
  }

  static Tensor input_of(const Graph& graph) {
    Tensor x(Dtype::f16, graph.value(graph.inputs[0]).type.shape);
    for (size_t i = 0; i < x.as<f16>().size(); ++i)
      x.mutable_as<f16>()[i] = f16(static_cast<f32>(i * 37 % 101) / 16 - 3);
    return x;
  }

  // Read and written in the device's memory.
  void expect_bits_there(const Graph& graph) const {
    const Tensor x = input_of(graph), want = interpret(graph, std::vector<Tensor>{x})[0];
    auto model = std::make_shared<Model>();
    model->graph = graph;
    Context context = Inside::context(model, {.device = std::string(device_->name())});
    const DeviceTensor in(*device_, x), out(*device_, want.type());
    context.run_into(std::vector<TensorView>{in.view()},
                     std::vector<MutableTensorView>{out.view()});
    const Tensor got = out.read();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
  }

  void expect_bits(const Graph& graph) const {
    const std::vector<Tensor> inputs{input_of(graph)};
    const Tensor want = interpret(graph, inputs)[0],
                 got = run_on(graph, inputs, make_target(device_->name(), 1, nullptr))[0];
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
  }
};

// As blocks of YOLOs do: both halves are kept, one is read, and what becomes of it is joined to them.
TEST_F(GpuChannels, HalvesThatAreKeptAreReadWhereTheyLie) {
  const DearChains whatever_they_cost;
  Blocks blocks(16);
  blocks.slice("a", "h", 0, 8);
  blocks.slice("b", "h", 8, 8);
  blocks.convolve("m", "b", 8);
  blocks.convolve("n", "m", 8);
  blocks.join("c", {"a", "b", "m", "n"}, 32);
  blocks.convolve("y", "c", 32);
  const Graph graph = blocks.graph("y");
  EXPECT_EQ(copied(plan(graph)), std::vector<std::string>{});
  expect_bits(graph);
}

TEST_F(GpuChannels, PartsOfASplitAreReadWhereTheyLie) {
  const DearChains whatever_they_cost;
  Blocks blocks(16);
  blocks.split({{"a", 4}, {"b", 8}, {"c", 4}}, "h");
  blocks.convolve("m", "b", 8);
  blocks.convolve("n", "c", 4);
  blocks.join("j", {"m", "n", "a"}, 16);
  blocks.convolve("y", "j", 16);
  const Graph graph = blocks.graph("y");
  EXPECT_EQ(copied(plan(graph)), std::vector<std::string>{"a"});  // which lies in h
  expect_bits(graph);
}

// As DenseNets do: each layer reads all that came before.
TEST_F(GpuChannels, ConcatenationsGrowInPlace) {
  const DearChains whatever_they_cost;
  Blocks blocks(8);
  std::vector<std::string> parts{"h"};
  std::string before = "h";
  for (s64 i = 1; i <= 4; ++i) {
    const std::string own = fmt::format("m{}", i), all = fmt::format("c{}", i);
    blocks.convolve(own, before, 8 * (i == 1 ? 1 : i));
    if (i > 1) {
      blocks.slice(own + "_", own, 0, 8);
      parts.push_back(own + "_");
    } else {
      parts.push_back(own);
    }
    blocks.join(all, parts, 8 * (i + 1));
    before = all;
  }
  blocks.convolve("y", before, 40);
  const Graph graph = blocks.graph("y");
  for (const std::string& name : copied(plan(graph))) EXPECT_EQ(name.back(), '_') << name;
  expect_bits(graph);
}

// A value that two concatenations hold, neither of which begins with the other, lies in one of them.
TEST_F(GpuChannels, ValuesOfTwoConcatenations) {
  const DearChains whatever_they_cost;
  Blocks blocks(8);
  blocks.convolve("a", "h", 8);
  blocks.convolve("b", "a", 8);
  blocks.join("c", {"h", "b"}, 16);
  blocks.join("d", {"b", "a"}, 16);
  blocks.convolve("e", "c", 16);
  blocks.convolve("f", "d", 16);
  blocks.join("g", {"e", "f"}, 32);
  blocks.convolve("y", "g", 32);
  const Graph graph = blocks.graph("y");
  EXPECT_EQ(copied(plan(graph)).size(), 1U);
  expect_bits(graph);
}

// What lies in the caller's memory is copied, wherever the arena's values lie.
TEST_F(GpuChannels, HalvesOfTheCallersImagesAreCopied) {
  const DearChains whatever_they_cost;
  Blocks blocks = Blocks::of_channels_last(16);
  blocks.split({{"a", 8}, {"b", 8}}, "h");
  blocks.convolve("m", "b", 8);
  blocks.join("c", {"a", "m"}, 16);
  blocks.convolve("y", "c", 16);
  expect_bits_there(blocks.graph("y"));
}

TEST_F(GpuChannels, ReversedChannelsOfTheCallersImages) {
  const DearChains whatever_they_cost;
  Blocks blocks = Blocks::of_channels_last(3);
  blocks.split({{"r", 1}, {"g", 1}, {"b", 1}}, "h");
  blocks.join("c", {"b", "g", "r"}, 3);
  blocks.convolve("y", "c", 3);
  expect_bits_there(blocks.graph("y"));
}

}  // namespace
}  // namespace octet::test
