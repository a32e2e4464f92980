// SPDX-License-Identifier: Apache-2.0
// The shapes of layers that the choice is made for, with 2 to 16 threads.
#include "backends/cpu/kernels/codes/thread_grid.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

// A 1x1 convolution in tiles of 16 pixels by 64 channels.
GridWork layer(s64 pixels, s64 in, s64 out) {
  const f64 cycles = 4.0 * (static_cast<f64>(in) / 64 * 16 + 30);
  return {(pixels + 15) / 16, out / 64, cycles, pixels * in, in * out};
}

void expect_grid(const GridWork& work, s64 threads, s64 rows, s64 columns) {
  const ThreadGrid grid = choose_thread_grid(work, threads);
  EXPECT_EQ(grid.rows, rows) << threads << " threads";
  EXPECT_EQ(grid.columns, columns) << threads << " threads";
}

TEST(ThreadGrid, OneThreadTakesAll) { expect_grid(layer(49, 512, 2048), 1, 1, 1); }

TEST(ThreadGrid, LargeMapsAreCutByPixels) {
  for (s64 threads : {2, 4, 8, 16}) expect_grid(layer(56 * 56, 64, 256), threads, threads, 1);
}

TEST(ThreadGrid, LargeWeightsAreCutByChannels) {
  expect_grid(layer(49, 512, 2048), 2, 1, 2);
  expect_grid(layer(49, 512, 2048), 16, 1, 16);
}

TEST(ThreadGrid, InBetweenBothAreCut) {
  expect_grid(layer(14 * 14, 1024, 256), 2, 2, 1);
  expect_grid(layer(14 * 14, 1024, 256), 16, 4, 4);
}

TEST(ThreadGrid, NoMoreRowsThanThereAre) {
  expect_grid({3, 1, 1000, 100, 100}, 16, 3, 1);
  expect_grid({1, 1, 1000, 100, 100}, 16, 1, 1);
}

}  // namespace
}  // namespace octet
