// SPDX-License-Identifier: Apache-2.0
#include "core/page_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

namespace octet {
namespace {

struct Block {
  std::byte* data;
  s64 bytes;
  int value;

  bool holds() const {
    for (s64 i = 0; i < bytes; ++i) {
      if (data[i] != std::byte{static_cast<u8>(value)}) return false;
    }
    return true;
  }
};

Block taken(s64 bytes, int value) {
  std::byte* const data = take_page_block(bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0u);
  std::memset(data, value, static_cast<size_t>(bytes));
  return {data, bytes, value};
}

TEST(PageBlocks, AreForSizesBetweenPagesAndLargePages) {
  EXPECT_FALSE(fits_page_block(65535));
  EXPECT_TRUE(fits_page_block(65536));
  EXPECT_TRUE(fits_page_block((4 << 20) - 1));
  EXPECT_FALSE(fits_page_block(4 << 20));
}

// More than two regions hold, given back in another order than taken while others are taken.
TEST(PageBlocks, KeepWhatIsWrittenIntoThem) {
  std::vector<Block> blocks;
  for (int i = 0; i < 60; ++i) blocks.push_back(taken(65536 + i * 70001, i));
  for (size_t i = 0; i < blocks.size(); i += 2) {
    ASSERT_TRUE(blocks[i].holds()) << i;
    give_back_page_block(blocks[i].data, blocks[i].bytes);
    blocks[i] = taken(100000 + static_cast<s64>(i), static_cast<int>(i) + 100);
  }
  for (const Block& block : blocks) {
    ASSERT_TRUE(block.holds()) << block.value;
    give_back_page_block(block.data, block.bytes);
  }
}

s64 mapped_pages() {
  std::ifstream file("/proc/self/statm");
  s64 pages = 0;
  file >> pages;
  return pages;
}

// As an engine that is loaded again and again does.
TEST(PageBlocks, AreTakenAgainWhereAllWereGivenBack) {
  const s64 before = mapped_pages();
  for (int i = 0; i < 1000; ++i) {
    const Block block = taken(1 << 20, i % 200);
    give_back_page_block(block.data, block.bytes);
  }
  // Of 1000 MiB that were taken in all; a sanitizer keeps some of them.
  constexpr s64 kPages = (600 << 20) / 4096;
  EXPECT_LT(mapped_pages() - before, kPages);
}

TEST(PageBlocks, ManyThreadsTakeAndGiveBack) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const Block a = taken(70000 + i * 64, t), b = taken(300000, t + 10);
        EXPECT_TRUE(a.holds() && b.holds());
        give_back_page_block(a.data, a.bytes);
        give_back_page_block(b.data, b.bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace octet
