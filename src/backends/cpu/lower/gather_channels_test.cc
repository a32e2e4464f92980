// SPDX-License-Identifier: Apache-2.0
// Picked channels against the scalar reference: every level, pixels shorter and longer than a block, elements of any size.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "backends/cpu/kernels/codes/move/channels.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

// The permutation of a shuffle of `count` channels in `groups`.
std::vector<s64> shuffled(s64 count, s64 groups) {
  std::vector<s64> channels;
  for (s64 i = 0; i < count; ++i) channels.push_back(i % groups * (count / groups) + i / groups);
  return channels;
}

Probe gather(const std::vector<s64>& widths, const std::vector<s64>& channels) {
  Probe probe{.op = "GatherChannels"};
  for (size_t i = 0; i < widths.size(); ++i) {
    probe.inputs.push_back(activation(random_u8({2, widths[i], 3, 5}, i), Layout::nhwc));
  }
  probe.attrs.set("channels", channels);
  return probe;
}

TEST(GatherChannels, ShufflesOfOneImage) {
  for (const auto& [count, groups] : {std::pair<s64, s64>{2, 2},
                                      {6, 3},
                                      {16, 2},
                                      {30, 2},
                                      {34, 2},
                                      {48, 3},
                                      {62, 2},
                                      {64, 8},
                                      {66, 2},
                                      {116, 2},
                                      {128, 2},
                                      {130, 2},
                                      {232, 2},
                                      {464, 2},
                                      {60, 5}}) {
    expect_exact(gather({count}, shuffled(count, groups)), lower_gather_channels,
                 fmt::format("{} in {} groups", count, groups));
  }
}

TEST(GatherChannels, HalvesOfAShuffleOfTwoImages) {
  for (s64 count : {1, 3, 8, 15, 16, 17, 29, 32, 33, 58, 63, 64, 65, 116}) {
    const std::vector<s64> all = shuffled(2 * count, 2);
    for (s64 first : {s64{0}, count}) {
      const auto begin = all.begin() + first;
      expect_exact(gather({count, count}, {begin, begin + count}), lower_gather_channels,
                   fmt::format("half of {} from {}", 2 * count, first));
    }
  }
}

TEST(GatherChannels, AnyChannelsOfUpToEightImages) {
  std::mt19937 random(1);
  const std::vector<std::vector<s64>> widths = {
      {1}, {1, 70}, {16, 16, 16}, {20, 1, 90}, {17, 33, 65, 129}, {16, 17, 18, 19, 20, 21, 22, 23}};
  for (const std::vector<s64>& each : widths) {
    const s64 joined = std::accumulate(each.begin(), each.end(), s64{0});
    for (s64 count : {1, 15, 16, 63, 64, 65, 200}) {
      std::vector<s64> channels(static_cast<size_t>(count));
      for (s64& channel : channels) channel = static_cast<s64>(random()) % joined;
      expect_exact(gather(each, channels), lower_gather_channels,
                   fmt::format("{} of {}", count, joined));
    }
  }
}

TEST(GatherChannels, LargerElements) {
  Probe probe = gather({10, 14}, shuffled(24, 2));
  for (const Dtype dtype : {Dtype::f32, Dtype::s64}) {
    for (ProbeInput& input : probe.inputs) {
      const Shape shape = input.tensor.shape();
      Tensor tensor(dtype, shape);
      for (size_t i = 0; i < tensor.bytes(); ++i) {
        tensor.mutable_data()[i] = static_cast<std::byte>(i % 251);
      }
      input.tensor = tensor;
    }
    expect_exact(probe, lower_gather_channels, "larger elements");
  }
}

TEST(GatherChannels, EachLevelHasItsKernel) {
  const Probe wide = gather({40, 40}, shuffled(80, 2));
  const auto names = expect_exact(wide, lower_gather_channels, "wide");
  EXPECT_THAT(names, ::testing::Contains("gather_channels_plain"));
  if (hardware_has(Isa::vnni)) {
    EXPECT_THAT(names, ::testing::Contains("gather_channels_vnni"));
  }
}

TEST(GatherChannels, Planes) {
  Probe probe = gather({3, 5}, {7, 0, 0, 4, 3});
  for (ProbeInput& input : probe.inputs) input.layout = Layout::linear;
  expect_exact(probe, lower_gather_planes, "planes");
  probe.inputs = {activation(random_u8({4, 9}, 1))};
  expect_exact(probe, lower_gather_planes, "rows");
}

TEST(GatherChannels, MoreThanAKernelTakesIsRefused) {
  const Probe picked = gather({2}, std::vector<s64>((1 << 16) + 1, 1));
  EXPECT_EQ(run_probe(picked, lower_gather_channels).reject, "more than 65536 channels are picked");
  const Probe probe = gather(std::vector<s64>(kMaxGathered + 1, 2), {0, 17});
  EXPECT_EQ(run_probe(probe, lower_gather_channels).reject, "there are more than 8 inputs");
}

}  // namespace
}  // namespace octet
