// SPDX-License-Identifier: Apache-2.0
#include "precision/layer_losses.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(LayerLosses, OneThatLosesNearlyAllStaysReal) {
  const std::vector<LayerLoss> layers = {
      {"a", 1e-5, 0.01, 0.3}, {"b", 1e-3, 0.01, 0.01}, {"c", 1e-5, 0.01, 0.3}};
  EXPECT_EQ(worth_reals(layers, 0.1), (std::vector<bool>{false, true, false}));
}

TEST(LayerLosses, LittleIsNobodysLoss) {
  const std::vector<LayerLoss> layers = {{"a", 4e-4, 0.001, 0.001}, {"b", 1e-6, 0.001, 0.5}};
  EXPECT_EQ(worth_reals(layers, 0.1), (std::vector<bool>{false, false}));
}

TEST(LayerLosses, TheMostForItsTimeComesFirst) {
  // Both together would take more than a tenth of the time.
  const std::vector<LayerLoss> layers = {
      {"slow", 4e-3, 0.08, 0.01}, {"fast", 3e-3, 0.03, 0.01}, {"rest", 1e-3, 0.9, 0.9}};
  EXPECT_EQ(worth_reals(layers, 0.1), (std::vector<bool>{false, true, false}));
}

TEST(LayerLosses, MultiplicationsThatMayBeRealAreFew) {
  const std::vector<LayerLoss> layers = {{"a", 4e-3, 0.01, 0.03}, {"b", 3e-3, 0.01, 0.03}};
  EXPECT_EQ(worth_reals(layers, 0.1), (std::vector<bool>{true, false}));
}

TEST(LayerLosses, TooMuchIsTooMuchWhateverItTakes) {
  const std::vector<LayerLoss> layers = {{"a", 0.021, 5, 0.9}, {"b", 0.019, 5, 0.1}};
  EXPECT_EQ(worth_reals(layers, 0.1), (std::vector<bool>{true, false}));
}

TEST(LayerLosses, HalfOfAllIsTooMuchWhereItIsLittleWork) {
  const std::vector<LayerLoss> layers = {
      {"a", 1e-3, 0.3, 0.01}, {"b", 3e-4, 0.3, 0.1}, {"c", 3e-4, 0.01, 0.01}};
  EXPECT_EQ(worth_reals(layers, 0.02), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(worth_reals(layers, 0), (std::vector<bool>{false, false, false}));
  std::vector<LayerLoss> others = layers;
  others[0].macs = 0.011;
  EXPECT_EQ(worth_reals(others, 0.02), (std::vector<bool>{false, false, true}));
  others = layers;
  others[1].lost = 8e-4;
  EXPECT_EQ(worth_reals(others, 0.02), (std::vector<bool>{false, false, true}));
  // Of little that is lost no half is much.
  EXPECT_EQ(worth_reals(std::vector<LayerLoss>{{"a", 4e-4, 0.3, 0.001}}, 0.02),
            (std::vector<bool>{false}));
}

TEST(LayerLosses, WhatIsTooMuchLeavesOthersTheirTime) {
  const std::vector<LayerLoss> layers = {{"a", 0.5, 0.09, 0.04}, {"b", 0.01, 0.09, 0.04}};
  EXPECT_EQ(worth_reals(layers, 0.1), (std::vector<bool>{true, true}));
}

TEST(LayerLosses, WithoutTimeOnlyWhatIsTooMuchIsReal) {
  const std::vector<LayerLoss> layers = {{"a", 0.021, 0.001, 0.01}, {"b", 0.019, 0.001, 0.01}};
  EXPECT_EQ(worth_reals(layers, 0), (std::vector<bool>{true, false}));
}

TEST(LayerLosses, WhatTakesNoTimeIsWorthAny) {
  const std::vector<LayerLoss> layers = {{"a", 0, 0, 0}, {"b", 0.01, 0, 0.01}, {"c", 1e-3, 1, 0.5}};
  EXPECT_EQ(worth_reals(layers, 0), (std::vector<bool>{false, true, false}));
}

TEST(LayerLosses, OneThatTakesTooMuchTimeLeavesItToTheNext) {
  const std::vector<LayerLoss> layers = {
      {"a", 5e-3, 0.03, 0.01}, {"b", 4e-3, 0.025, 0.01}, {"c", 1e-3, 0.015, 0.01}};
  EXPECT_EQ(worth_reals(layers, 0.05), (std::vector<bool>{true, false, true}));
}

TEST(LayerLosses, LastBitsAreGone) {
  EXPECT_EQ(coarse(0.1), coarse(0.1 * (1 + 1e-6)));
  EXPECT_EQ(coarse(0), 0);
  EXPECT_NEAR(coarse(0.0123), 0.0123, 0.0123 / 16);
}

}  // namespace
}  // namespace octet
