// SPDX-License-Identifier: Apache-2.0
#include "data/sample_feed.h"

#include <atomic>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/error_testing.h"

namespace octet {
namespace {

using test::expect_error;

const std::vector<TensorInfo> kInputs = {{"x", {Dtype::f32, {Shape::kDynamic, 3}}},
                                         {"ids", {Dtype::s64, {Shape::kDynamic}}}};

// Numbers from `first` on, the rows of one batch.
std::vector<Tensor> batch(s64 rows, f32 first, Dtype ids = Dtype::s64) {
  Tensor x(Dtype::f32, {rows, 3});
  std::iota(x.mutable_as<f32>().begin(), x.mutable_as<f32>().end(), first);
  return {x, Tensor(ids, {rows})};
}

SampleSource source_of(std::vector<std::vector<Tensor>> batches) {
  return [batches = std::move(batches), at = size_t{0}](std::vector<Tensor>& inputs) mutable {
    if (at == batches.size()) return false;
    inputs = batches[at++];
    return true;
  };
}

std::vector<std::vector<f32>> first_inputs(SampleFeed& feed) {
  std::vector<std::vector<f32>> seen;
  while (const auto sample = feed.next()) {
    const auto values = sample->inputs[0].as<f32>();
    seen.emplace_back(values.begin(), values.end());
  }
  return seen;
}

TEST(SampleFeed, BatchesAreCutIntoSamples) {
  const auto feed = feed_of(source_of({batch(2, 0), batch(0, 9), batch(1, 6)}), kInputs);
  EXPECT_EQ(feed->total(), 0);
  const std::optional<FedSample> first = feed->next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "sample 0");
  EXPECT_EQ(first->inputs[0].shape(), (Shape{1, 3}));
  EXPECT_EQ(first->inputs[1].shape(), (Shape{1}));
  EXPECT_EQ(first_inputs(*feed), (std::vector<std::vector<f32>>{{3, 4, 5}, {6, 7, 8}}));
  EXPECT_FALSE(feed->next());
}

TEST(SampleFeed, NumbersAreConverted) {
  const auto feed = feed_of(source_of({batch(1, 0, Dtype::s32)}), kInputs);
  EXPECT_EQ(feed->next()->inputs[1].dtype(), Dtype::s64);
}

TEST(SampleFeed, WhatDoesNotFitIsNamed) {
  const auto refuse = [](std::vector<Tensor> tensors, const std::vector<std::string>& says) {
    const auto feed = feed_of(source_of({std::move(tensors)}), kInputs);
    expect_error([&] { feed->next(); }, Error::Code::invalid_argument, says);
  };
  refuse({Tensor(Dtype::f32, {1, 3})}, {"1 tensors", "2 inputs"});
  refuse({Tensor(Dtype::f32, {1, 4}), Tensor(Dtype::s64, {1})}, {"f32[1,4]", "input 'x'"});
  refuse({Tensor(Dtype::f32, {2, 3}), Tensor(Dtype::s64, {1})}, {"1 samples", "'ids'", "2 of 'x'"});
  refuse({Tensor(), Tensor(Dtype::s64, {1})}, {"nothing for input 'x'"});
  std::vector<Tensor> nan = batch(1, 0);
  nan[0].mutable_as<f32>()[1] = std::numeric_limits<f32>::quiet_NaN();
  refuse(nan, {"sample 0, input 'x': NaN at element 1"});
}

TEST(SampleFeed, WhatTheSourceThrowsPassesThrough) {
  const auto feed =
      feed_of([](std::vector<Tensor>&) -> bool { throw std::runtime_error("no more"); }, kInputs);
  EXPECT_THROW(feed->next(), std::runtime_error);
}

TEST(SampleFeed, ManyThreadsGetEverySampleOnce) {
  std::vector<std::vector<Tensor>> batches;
  for (int i = 0; i < 40; ++i) batches.push_back(batch(1 + i % 3, static_cast<f32>(100 * i)));
  const auto feed = feed_of(source_of(std::move(batches)), kInputs);
  std::mutex mutex;
  std::multiset<std::string> names;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (const auto sample = feed->next()) {
          const std::lock_guard lock(mutex);
          names.insert(sample->name);
        }
      });
    }
  }
  EXPECT_EQ(names.size(), 79u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 79u);
}

}  // namespace
}  // namespace octet
