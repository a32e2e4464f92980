// SPDX-License-Identifier: Apache-2.0
// Every layout to every other and back, with borders, channels that fill no block, and elements of one byte and of four.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backends/host/queue.h"
#include "backends/reference/reference.h"
#include "plan/format.h"

namespace octet {
namespace {

constexpr Layout kLayouts[] = {Layout::linear, Layout::nhwc, Layout::nhwc_c32, Layout::nc32hw32};

// A value in one placement; what no conversion has written is 0xee.
struct Stored {
  Stored(const TensorType& value, Layout layout, s64 border)
      : type(value),
        placement(dense_placement(value, layout, border)),
        memory(static_cast<size_t>(format_bytes(value, placement)), std::byte{0xee}) {}

  std::byte* data() { return memory.data() + origin_bytes(type, placement); }

  TensorType type;
  Placement placement;
  std::vector<std::byte> memory;
};

void convert(Stored& from, Stored& to, HostQueue& queue) {
  const Candidate candidate =
      reference_convert(from.type, from.placement.layout, to.placement.layout, {});
  const std::byte* src = from.data();
  std::byte* dst = to.data();
  candidate.bind({{from.placement}, {to.placement}})({&src, &dst, nullptr, queue});
}

Stored counted(const TensorType& type) {
  Stored value(type, Layout::linear, 0);
  u32 next = 1;
  for (std::byte& b : value.memory) b = static_cast<std::byte>((next = next * 1664525u + 7) >> 24);
  return value;
}

TEST(Convert, EveryLayoutAndBack) {
  HostQueue queue(2);
  for (const Dtype dtype : {Dtype::u8, Dtype::f32}) {
    for (const s64 channels : {1, 3, 31, 32, 33, 64, 70}) {
      const TensorType type{dtype, {2, channels, 3, 4}};
      Stored linear = counted(type);
      for (const Layout first : kLayouts) {
        for (const Layout second : kLayouts) {
          const auto border = [](Layout layout) { return layout == Layout::linear ? 0 : 1; };
          Stored a(type, first, border(first)), b(type, second, border(second));
          Stored back(type, Layout::linear, 0);
          convert(linear, a, queue);
          convert(a, b, queue);
          convert(b, back, queue);
          EXPECT_EQ(back.memory, linear.memory)
              << layout_name(first) << " " << layout_name(second) << " " << channels;
        }
      }
    }
  }
}

TEST(Convert, ElementsLieWhereTheFormatSays) {
  HostQueue queue(1);
  const TensorType type{Dtype::u8, {2, 40, 3, 5}};
  Stored linear = counted(type), blocks(type, Layout::nc32hw32, 0);
  convert(linear, blocks, queue);
  const auto in_linear = [](s64 n, s64 c, s64 y, s64 x) { return ((n * 40 + c) * 3 + y) * 5 + x; };
  const auto in_blocks = [](s64 n, s64 c, s64 y, s64 x) {
    return (((n * 2 + c / 32) * 3 + y) * 5 + x) * 32 + c % 32;
  };
  for (const s64 c : {0, 31, 32, 39}) {
    EXPECT_EQ(blocks.memory[static_cast<size_t>(in_blocks(1, c, 2, 3))],
              linear.memory[static_cast<size_t>(in_linear(1, c, 2, 3))]);
  }
}

TEST(Convert, ChannelsThatFillUpAreZero) {
  HostQueue queue(1);
  const TensorType type{Dtype::u8, {1, 40, 2, 2}};
  Stored linear = counted(type);
  for (std::byte& b : linear.memory) b |= std::byte{1};  // no zeros of its own
  for (const Layout layout : {Layout::nhwc_c32, Layout::nc32hw32}) {
    Stored padded(type, layout, 0);
    convert(linear, padded, queue);
    EXPECT_EQ(std::count(padded.memory.begin(), padded.memory.end(), std::byte{0}), 24 * 4);
  }
}

}  // namespace
}  // namespace octet
