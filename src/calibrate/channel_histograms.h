// SPDX-License-Identifier: Apache-2.0
// How the magnitudes of each channel of an image tensor are distributed over the calibration data, so coarsely that channels may be many,
// and on a scale on which a channel that is multiplied by a power of two keeps its counts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "calibrate/histogram.h"
#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

// Bins are sixteenths of an octave below the channel's largest value. Counts are integers of what was seen at fixed places of each image,
// so they depend neither on the order of the samples nor on batches or threads.
class ChannelHistograms {
 public:
  static constexpr size_t kBins =
      256;  // 16 octaves, as far as codes of 8 bits and their steps reach
  // A count for each bin and one for what lies below them.
  static constexpr s64 kBytesOfChannel = (kBins + 1) * sizeof(u32);

  // Samples [N, C, H, W] in f32. Tensors of another rank leave it empty. Values that are not finite are left out.
  void observe(const Tensor& tensor);
  void merge(const ChannelHistograms& other);
  // As if nothing had been observed. Keeps its memory: it is megabytes, and asked for again with the next sample.
  void clear();
  size_t channels() const { return top_.size(); }
  // For core/archive.h; behind a reader is_sound() tells whether the members fit each other.
  template <class Archive>
  void archive(Archive& archive) {
    archive(top_, counts_, zeros_);
  }
  bool is_sound() const;

  // Of all values together when channel c is multiplied by 2^exponents[c]; they lie from `min` to `max`. Nothing where it was empty.
  std::optional<Histogram> joined(std::span<const s8> exponents, f32 min, f32 max) const;

 private:
  u32* row_of(size_t channel);
  void raise(size_t channel, s32 key);

  std::vector<s32> top_;  // of each channel: the key of its first bin
  std::vector<u32>
      counts_;  // of each channel its bins from the top, then one for what lies below them
  u64 zeros_ = 0;
};

}  // namespace octet
