// SPDX-License-Identifier: Apache-2.0
// What calibration sees does not depend on threads, on the memory that there is for them, or on the order of the samples.
#include "pipeline/observe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/check.h"
#include "core/error_testing.h"
#include "core/memory.h"
#include "graph/text.h"
#include "octet/limits.h"
#include "ops/registry.h"
#include "pipeline/equalization.h"
#include "pipeline/normal_testing.h"
#include "pipeline/sample_choice.h"
#include "pipeline/sample_run.h"

namespace octet {
namespace {

constexpr s64 kMiB = s64{1} << 20;

class MemoryLimit {
 public:
  explicit MemoryLimit(s64 bytes) : before_(limits()) { set_limits({.memory = bytes}); }
  ~MemoryLimit() { set_limits(before_); }

 private:
  Limits before_;
};

// A chain of `length` elementwise layers over an input of any number of rows of 256 KiB.
Graph chain(int length) {
  std::string text = "graph \"chain\"(%v0: f32[?,65536]) {\n  const %c: f32[1] = {0.75}\n";
  for (int i = 1; i <= length; ++i) {
    text += fmt::format("  %v{}: f32[?,65536] = {}(%v{}{}) name \"n{}\"\n", i,
                        i % 2 == 1 ? "Mul" : "Tanh", i - 1, i % 2 == 1 ? ", %c" : "", i);
  }
  return parse_graph(text + fmt::format("  return %v{}\n}}", length), find_op);
}

std::vector<ValueId> all_activations(const Graph& graph) {
  std::vector<ValueId> ids = graph.inputs;
  for (const Node& node : graph.nodes) ids.push_back(node.outputs[0]);
  return ids;
}

std::vector<Tensor> samples_of_rows(const std::vector<s64>& rows) {
  std::vector<Tensor> samples;
  for (size_t i = 0; i < rows.size(); ++i)
    samples.push_back(normal_tensor({rows[i], 65536}, static_cast<u32>(i)));
  return samples;
}

// Hands out each sample as it stands, rows and all.
class ListFeed : public SampleFeed {
 public:
  explicit ListFeed(std::span<const Tensor> samples) : samples_(samples) {}
  std::optional<FedSample> next() override {
    const size_t i = next_.fetch_add(1);
    if (i >= samples_.size()) return std::nullopt;
    return FedSample{fmt::format("sample {}", i), {samples_[i]}};
  }
  s64 total() const override { return static_cast<s64>(samples_.size()); }

 private:
  std::span<const Tensor> samples_;
  std::atomic<size_t> next_{0};
};

Observations observe_all(const Graph& graph, std::span<const Tensor> samples, int threads,
                         SampleChoice* choice = nullptr) {
  const std::vector<ValueId> values = all_activations(graph);
  const Observed observed{graph, values};
  ListFeed feed(samples);
  return observe(observed, feed, {threads, {}, choice});
}

void expect_same(const Observations& a, const Observations& b) {
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.data_hash, b.data_hash);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i)
    EXPECT_EQ(a.values[i].histogram, b.values[i].histogram) << i;
}

TEST(Observe, SeesEveryValueOnce) {
  const Graph graph = chain(3);
  const auto samples = samples_of_rows({1, 2, 1});
  const Observations seen = observe_all(graph, samples, 1);
  EXPECT_EQ(seen.samples, 3);
  for (const TensorObservation& value : seen.values) EXPECT_EQ(value.histogram.count(), 4u * 65536);
  Histogram input;
  for (const Tensor& sample : samples) input.observe(sample.as<f32>());
  EXPECT_EQ(seen.values[0].histogram, input);
}

TEST(Observe, ThreadsChangeNothing) {
  const Graph graph = chain(6);
  const auto samples = samples_of_rows({1, 1, 3, 1, 2, 1, 1, 1, 4, 1, 1, 1});
  const Observations one = observe_all(graph, samples, 1);
  for (const int threads : {2, 5, 16}) expect_same(observe_all(graph, samples, threads), one);
}

// Images whose values are large or small: workers merge what channels hold side by side.
TEST(Observe, ThreadsChangeNothingOfChannels) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[1,64,16,16]) {
  %a: f32[1,64,16,16] = Tanh(%x) name "a"
  %y: f32[1,64,16,16] = Relu(%a) name "y"
  return %y
})",
                                  find_op);
  std::vector<Tensor> samples;
  for (u32 i = 0; i < 40; ++i) {
    samples.push_back(normal_tensor({1, 64, 16, 16}, i));
    for (f32& value : samples.back().mutable_as<f32>())
      value = std::ldexp(value, -static_cast<int>(i % 7) * 4);
  }
  const std::vector<ValueId> values = all_activations(graph);
  const Observed observed{graph, values, {}, {}, values};
  const auto seen_by = [&](int threads) {
    ListFeed feed(samples);
    return observe(observed, feed, {threads});
  };
  const std::vector<s8> plain(64);
  const Observations one = seen_by(1);
  for (const int threads : {3, 16}) {
    const Observations many = seen_by(threads);
    expect_same(many, one);
    for (size_t i = 0; i < values.size(); ++i) {
      const TensorObservation &a = one.values[i], &b = many.values[i];
      EXPECT_EQ(a.power.mean_squares(), b.power.mean_squares());
      EXPECT_EQ(a.power.minima(), b.power.minima());
      EXPECT_EQ(a.channels.joined(plain, -8.0f, 8.0f), b.channels.joined(plain, -8.0f, 8.0f));
      EXPECT_EQ(a.channels.channels(), 64u);
    }
  }
}

// The device's queue runs late, and a third of the layers are the host's.
TEST(Observe, ADeviceOfOtherMemoryShowsTheSame) {
  const Graph graph = chain(6);
  const auto samples = samples_of_rows({1, 1, 3, 1, 2});
  const std::vector<ValueId> values = all_activations(graph);
  const Observations want = observe_all(graph, samples, 1);
  for (const int threads : {1, 3}) {
    ListFeed feed(samples);
    expect_same(observe({graph, values}, feed, {threads, {}, nullptr, "test:1"}), want);
  }
}

// "test:0" runs the readers, too, on a thread of its own.
TEST(Observe, ADeviceThatShowsNothingIsNoSilence) {
  const Graph graph = chain(2);
  const auto samples = samples_of_rows({1});
  const std::vector<ValueId> values = all_activations(graph);
  ListFeed feed(samples);
  test::expect_error(
      [&] {
        observe({graph, values}, feed, {1, {}, nullptr, "test:0"});
      },
      Error::Code::unsupported, {"leaves no step to the host"});
}

// A KiB and more for each: only of values whose channels may change, and then it is among what another run takes.
TEST(Observe, ChannelsAreCountedWhereTheyAreAskedFor) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[1,32768,1,1]) {
  %a: f32[1,32768,1,1] = Relu(%x) name "a"
  %y: f32[1,32768,1,1] = Relu(%a) name "y"
  return %y
})",
                                  find_op);
  const std::vector<ValueId> values = all_activations(graph);
  const std::vector<ValueId> some = {graph.find_value("a")};
  const Tensor sample(Dtype::f32, {1, 32768, 1, 1});
  ListFeed feed({&sample, 1});
  const Observed none{graph, values}, one{graph, values, {}, {}, some};
  const Observations seen = observe(one, feed, {});
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(seen.values[i].channels.channels(), values[i] == some[0] ? 32768u : 0u) << i;
  const SampleModel of_none(none), of_one(one);
  SampleRun without(none, of_none), with(one, of_one);
  EXPECT_EQ(*with.bytes_of_another({&sample, 1}) - *without.bytes_of_another({&sample, 1}),
            32768 * ChannelHistograms::kBytesOfChannel);
}

// Nothing can be multiplied where an input and an output meet.
TEST(Observe, FixedChannelsAreNotAskedFor) {
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[1,2,4,4]) {
  const %w: f32[2,2,1,1] = {1, -2, 0.5, 3}
  %a: f32[1,2,4,4] = Conv(%x, %w) name "a"
  %b: f32[1,2,4,4] = Relu(%a) name "b"
  %y: f32[1,2,4,4] = Conv(%b, %w) name "y"
  return %y
})",
                                  find_op);
  const std::vector<ValueId> values = all_activations(graph);
  EXPECT_EQ(values_to_equalize(graph, values),
            (std::vector<ValueId>{graph.find_value("a"), graph.find_value("b")}));
}

// 60 values of 2 MiB a sample, of which a few are needed at a time.
TEST(Observe, ValuesAreFreedAfterTheirLastReader) {
  const Graph graph = chain(60);
  const auto samples = samples_of_rows({8, 8, 8, 8});
  const Observations free = observe_all(graph, samples, 1);
  const MemoryLimit limit(counted_bytes() + 16 * kMiB);
  expect_same(observe_all(graph, samples, 1), free);
}

TEST(Observe, MemoryIsBoundedByTheLimitAndNotByThreads) {
  const Graph graph = chain(60);
  const auto samples = samples_of_rows(std::vector<s64>(16, 8));
  const Observations free = observe_all(graph, samples, 16);
  EXPECT_EQ(free.at_once, 16);
  EXPECT_FALSE(free.waited_for_memory);
  const MemoryLimit limit(counted_bytes() + 24 * kMiB);
  const Observations bounded = observe_all(graph, samples, 16);
  expect_same(bounded, free);
  EXPECT_LT(bounded.at_once, 16);
  EXPECT_TRUE(bounded.waited_for_memory);
}

// The first sample says that there is room for all threads, and the others take forty times as much: they wait for each other.
TEST(Observe, SamplesThatGrowWaitForEachOther) {
  const Graph graph = chain(10);
  std::vector<s64> rows(12, 40);
  rows[0] = 1;
  const auto samples = samples_of_rows(rows);
  const Observations free = observe_all(graph, samples, 1);
  const MemoryLimit limit(counted_bytes() + 32 * kMiB);
  const Observations bounded = observe_all(graph, samples, 8);
  expect_same(bounded, free);
  EXPECT_TRUE(bounded.waited_for_memory);
}

TEST(Observe, OneSampleThatDoesNotFitIsAnError) {
  const Graph graph = chain(10);
  const auto samples = samples_of_rows({8, 64, 8, 8});
  const MemoryLimit limit(counted_bytes() + 12 * kMiB);
  for (const int threads : {1, 4}) {
    try {
      observe_all(graph, samples, threads);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::out_of_memory);
      ASSERT_FALSE(error.context().empty());
      EXPECT_EQ(error.context().back(), "calibrating on sample 1");
    }
  }
}

TEST(SampleChoice, IsTheSameInAnyOrder) {
  const Graph graph = chain(1);
  std::vector<Tensor> samples = samples_of_rows(std::vector<s64>(150, 1));
  std::vector<std::vector<Tensor>> first;
  for (u32 seed = 0; seed < 4; ++seed) {
    SampleChoice choice;
    observe_all(graph, samples, seed % 2 == 0 ? 1 : 4, &choice);
    const auto runs = choice.runs();
    // 150 samples of 256 KiB: 64 are 16 MiB.
    ASSERT_EQ(runs.size(), 64u);
    if (seed == 0) first = runs;
    for (size_t i = 0; i < runs.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(runs[i][0].as<f32>(), first[i][0].as<f32>())) << i;
    std::ranges::shuffle(samples, std::mt19937(seed));
  }
}

TEST(SampleChoice, FewWhereTheyAreLarge) {
  const Graph graph = chain(1);
  const auto samples = samples_of_rows(std::vector<s64>(20, 8));  // 2 MiB each
  SampleChoice choice;
  observe_all(graph, samples, 1, &choice);
  EXPECT_EQ(choice.runs().size(), 16u);
}

TEST(SampleChoice, ComparesFewAndNoneThatIsHuge) {
  const Graph graph = chain(1);
  SampleChoice few(kComparedSamples), none(kComparedSamples);
  observe_all(graph, samples_of_rows(std::vector<s64>(9, 1)), 1, &few);
  EXPECT_EQ(few.runs().size(), 4u);
  SampleChoice tried;
  observe_all(graph, samples_of_rows(std::vector<s64>(9, 1)), 1, &tried);
  const auto of_tried = tried.runs(kComparedSamples), own = few.runs();
  ASSERT_EQ(of_tried.size(), 4u);
  for (size_t i = 0; i < own.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(of_tried[i][0].as<f32>(), own[i][0].as<f32>())) << i;
  observe_all(graph, samples_of_rows({129}), 1, &none);  // 256 KiB a row
  EXPECT_EQ(none.runs().size(), 0u);
}

// As rows of runs that take three: which ones share a run depends on the order.
TEST(SampleChoice, CutsRunsIntoSamples) {
  std::vector<FedSample> runs;
  std::vector<std::vector<ContentDigest>> digests;
  for (u32 r = 0; r < 4; ++r) {
    runs.push_back({"run", {normal_tensor({3, 5}, r)}, r == 3 ? 1 : 3, 3});
    std::vector<ContentDigest>& of_run = digests.emplace_back();
    for (s64 row = 0; row < runs.back().samples; ++row)
      of_run.push_back(digest_of(
          std::as_bytes(runs.back().inputs[0].as<f32>().subspan(static_cast<size_t>(row) * 5, 5))));
  }
  SampleChoice choice;
  for (size_t r = 0; r < runs.size(); ++r) choice.add(runs[r], digests[r]);
  const auto chosen = choice.runs();
  ASSERT_EQ(chosen.size(), 4u);  // of ten samples
  for (const auto& run : chosen) EXPECT_EQ(run[0].shape(), Shape({3, 5}));
  SampleChoice backwards;
  for (size_t r = runs.size(); r-- > 0;) backwards.add(runs[r], digests[r]);
  const auto again = backwards.runs();
  for (size_t i = 0; i < chosen.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(chosen[i][0].as<f32>(), again[i][0].as<f32>()));
}

}  // namespace
}  // namespace octet
