// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/codes/move/channels.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace octet {
namespace {

// Pixels that a thread moves at once: both sides stay in the first cache while blocks pass over them.
constexpr s64 kPixels = 64;
constexpr u8 kElsewhere = 0x80;

bool dense_rows(const GatherChannels::Image& image) {
  return image.placement.row_stride == image.placement.pixel_stride * image.shape[3];
}

}  // namespace

GatherChannels::GatherChannels(std::span<const Image> inputs, const Image& output,
                               std::span<const s64> channels, size_t element_bytes,
                               const ChannelKernel& kernel)
    : kernel_(kernel), images_(output.shape[0]), rows_(output.shape[2]), columns_(output.shape[3]) {
  const auto bytes = static_cast<s64>(element_bytes);
  const auto strides = [bytes](const Placement& p) {
    return Strides{p.image_stride * bytes, p.row_stride * bytes, p.pixel_stride * bytes};
  };
  for (const Image& image : inputs) {
    inputs_.push_back(strides(image.placement));
    widths_.push_back(image.shape[1] * bytes);
  }
  output_ = strides(output.placement);
  if (dense_rows(output) && std::ranges::all_of(inputs, dense_rows)) {
    columns_ *= rows_;
    rows_ = 1;
  }
  for (s64 channel : channels) {
    s64 input = 0, byte = channel * bytes;
    for (; byte >= widths_[static_cast<size_t>(input)]; ++input)
      byte -= widths_[static_cast<size_t>(input)];
    for (s64 i = 0; i < bytes; ++i) places_.push_back({input, byte + i});
  }
  add_blocks();
}

void GatherChannels::add_blocks() {
  const auto bytes = static_cast<s64>(places_.size());
  for (s64 first = 0; first < bytes; first += kernel_.bytes) {
    if (kernel_.whole) {
      // The last block writes bytes of the one before it again, the same ones.
      add_block(std::min(first, bytes - kernel_.bytes), kernel_.bytes);
    } else {
      add_block(first, std::min(kernel_.bytes, bytes - first));
    }
  }
  const ChannelWindow* next = windows_.data();
  for (ChannelBlock& block : blocks_) {
    block.windows = next;
    next += block.window_count;
  }
}

// Each window begins at the lowest byte that no window has yet.
void GatherChannels::add_block(s64 first, s64 count) {
  const size_t before = windows_.size();
  u64 left = count == 64 ? ~u64{0} : (u64{1} << count) - 1;
  const auto place = [&](s64 i) { return places_[static_cast<size_t>(first + i)]; };
  while (left != 0) {
    Place lowest{0, -1};
    for (s64 i = 0; i < count; ++i) {
      if ((left >> i & 1) == 0) continue;
      const Place p = place(i);
      if (lowest.byte < 0 || p.input < lowest.input ||
          (p.input == lowest.input && p.byte < lowest.byte))
        lowest = p;
    }
    const s64 width = widths_[static_cast<size_t>(lowest.input)];
    ChannelWindow window{};
    std::memset(window.table, kElsewhere, sizeof window.table);
    window.input = lowest.input;
    window.first = kernel_.whole ? std::min(lowest.byte, width - kernel_.bytes) : lowest.byte;
    window.count = std::min(kernel_.bytes, width - window.first);
    for (s64 i = 0; i < count; ++i) {
      const s64 at = place(i).byte - window.first;
      if ((left >> i & 1) == 0 || place(i).input != window.input || at >= window.count) continue;
      window.table[i] = static_cast<u8>(at);
      window.taken |= u64{1} << i;
    }
    left &= ~window.taken;
    windows_.push_back(window);
  }
  blocks_.push_back({first, count, nullptr, static_cast<s64>(windows_.size() - before)});
}

void GatherChannels::run(const std::byte* const* src, std::byte* dst,
                         ThreadPool& pool) const noexcept {
  const s64 pieces = (columns_ + kPixels - 1) / kPixels;
  pool.parallel_for(images_ * rows_ * pieces, [&](s64 begin, s64 end, int) {
    std::array<const u8*, kMaxGathered> from{};
    std::array<s64, kMaxGathered> steps{};
    for (s64 item = begin; item < end; ++item) {
      const s64 column = item % pieces * kPixels, row = item / pieces;
      const auto at = [&](const Strides& s) {
        return row / rows_ * s.image + row % rows_ * s.row + column * s.pixel;
      };
      for (size_t i = 0; i < inputs_.size(); ++i) {
        from[i] = reinterpret_cast<const u8*>(src[i]) + at(inputs_[i]);
        steps[i] = inputs_[i].pixel;
      }
      ChannelRun run{from.data(),
                     steps.data(),
                     reinterpret_cast<u8*>(dst) + at(output_),
                     output_.pixel,
                     std::min(kPixels, columns_ - column),
                     {}};
      for (const ChannelBlock& block : blocks_) {
        run.block = block;
        kernel_.run(run);
      }
    }
  });
}

}  // namespace octet
