// SPDX-License-Identifier: Apache-2.0
// Pixels whose channels are picked from the pixels of a few images, elements of any type.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/kernels/codes/kernel_row.h"
#include "backends/cpu/kernels/codes/move/channels_args.h"
#include "core/thread_pool.h"
#include "plan/offer.h"

namespace octet {

struct ChannelKernel {
  const char* name;
  Isa isa;
  void (*run)(const ChannelRun&);
  s64 bytes;   // of a block and of a window
  bool whole;  // neither may be shorter: each pixel holds one at least
};

// Best first.
inline constexpr ChannelKernel kChannelKernels[] = {
    {"gather_channels_vnni", Isa::vnni, gather_channels_vnni, 64, false},
    {"gather_channels_avx2", Isa::avx2, gather_channels_avx2, 16, true},
    {"gather_channels_neon", Isa::neon, gather_channels_neon, 16, true},
    {"gather_channels_plain", Isa::none, gather_channels_plain, 64, false},
};

inline constexpr size_t kMaxGathered = 8;  // inputs

class GatherChannels {
 public:
  struct Image {
    Shape shape;
    Placement placement;
  };

  // `channels` are of the inputs' channels one after another.
  GatherChannels(std::span<const Image> inputs, const Image& output, std::span<const s64> channels,
                 size_t element_bytes, const ChannelKernel& kernel);
  void run(const std::byte* const* src, std::byte* dst, ThreadPool& pool) const noexcept;

 private:
  struct Place {
    s64 input, byte;
  };
  struct Strides {  // in bytes
    s64 image, row, pixel;
  };
  void add_blocks();
  void add_block(s64 first, s64 count);

  const ChannelKernel& kernel_;
  std::vector<Place> places_;  // of each byte of an output pixel
  std::vector<s64> widths_;    // bytes of the inputs' pixels
  std::vector<Strides> inputs_;
  Strides output_;
  s64 images_, rows_, columns_;
  std::vector<ChannelWindow> windows_;
  std::vector<ChannelBlock> blocks_;
};

}  // namespace octet
