// SPDX-License-Identifier: Apache-2.0
#include "plan/chain_choice.h"

#include <gtest/gtest.h>

#include <random>

namespace octet {
namespace {

using Taken = std::vector<bool>;

TEST(ChainChoice, AllThatShareNothing) {
  EXPECT_EQ(choose_chains({}, 3), Taken{});
  const ChainOffer offers[] = {{{0, 1}, 5}, {{2, 3}, 1}, {{4, 6}, 2}, {{5, 7}, 3}};
  EXPECT_EQ(choose_chains(offers, 8), (Taken{true, true, true, true}));
}

TEST(ChainChoice, TwoThatSaveMoreTogetherThanOneBetweenThem) {
  const ChainOffer offers[] = {{{0, 1}, 6}, {{1, 2}, 10}, {{2, 3}, 6}};
  EXPECT_EQ(choose_chains(offers, 4), (Taken{true, false, true}));
  const ChainOffer dearer[] = {{{0, 1}, 4}, {{1, 2}, 10}, {{2, 3}, 4}};
  EXPECT_EQ(choose_chains(dearer, 4), (Taken{false, true, false}));
}

TEST(ChainChoice, PathsSideBySide) {
  const ChainOffer offers[] = {{{0, 2}, 6}, {{2, 4}, 10}, {{4, 6}, 6}, {{1, 3}, 2}, {{3, 5, 7}, 3}};
  EXPECT_EQ(choose_chains(offers, 8), (Taken{true, false, true, false, true}));
}

f64 most_of_any(std::span<const ChainOffer> offers) {
  f64 most = 0;
  for (u32 set = 0; set < 1u << offers.size(); ++set) {
    u64 nodes = 0;
    f64 saves = 0;
    for (size_t i = 0; i < offers.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      for (const u32 node : offers[i].nodes) {
        if ((nodes >> node & 1) != 0) saves = -1e9;
        nodes |= u64{1} << node;
      }
      saves += offers[i].saves;
    }
    most = std::max(most, saves);
  }
  return most;
}

TEST(ChainChoice, MostOfAllSetsAlongAPath) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<ChainOffer> offers;
    for (u32 i = 0; i < 1 + random() % 10; ++i) {
      ChainOffer offer{{}, static_cast<f64>(1 + random() % 20)};
      const u32 first = static_cast<u32>(random() % 12);
      for (u32 node = first; node < first + 2 + random() % 2; ++node) offer.nodes.push_back(node);
      offers.push_back(std::move(offer));
    }
    const Taken taken = choose_chains(offers, 16);
    f64 saves = 0;
    for (size_t i = 0; i < offers.size(); ++i) saves += taken[i] ? offers[i].saves : 0;
    EXPECT_EQ(saves, most_of_any(offers)) << round;
  }
}

}  // namespace
}  // namespace octet
