// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/shared/block_format.h"

#include <algorithm>

namespace octet_trt {
namespace {

constexpr const char* kMajor = "Channel major %T format";

constexpr FormatInfo kFormats[] = {
    {TensorFormat::kLINEAR, "kLINEAR", "Row major linear %T format", 1, 1, -1, 2},
    {TensorFormat::kHWC, "kHWC", kMajor, 0, 1, 1, 2},
    {TensorFormat::kCHW4, "kCHW4", "Four wide channel vectorized row major %T format", 4, 1, 4, 2},
    {TensorFormat::kCHW32, "kCHW32", "Thirty-two wide channel vectorized row major %T format", 32,
     1, 32, 2},
    {TensorFormat::kCHW16, "kCHW16", "Sixteen wide channel vectorized row major %T format", 16, 1,
     16, 2},
    {TensorFormat::kCHW2, "kCHW2", "Two wide channel vectorized row major %T format", 2, 1, 2, 2},
    {TensorFormat::kHWC8, "kHWC8", "Channel major %T format where channel % 8 == 0", 0, 8, 8, 2},
    {TensorFormat::kHWC16, "kHWC16", "Channel major %T format where channel % 16 == 0", 0, 16, 16,
     2},
    {TensorFormat::kCDHW32, "kCDHW32",
     "Thirty-two wide channel vectorized row major %T format with 3 spatial dimensions", 32, 1, 32,
     3},
    {TensorFormat::kDHWC8, "kDHWC8",
     "Channel major %T format where channel % 8 == 0 with 3 spatial dimensions", 0, 8, 8, 3},
    {TensorFormat::kDHWC, "kDHWC", "Channel major %T format with 3 spatial dimensions", 0, 1, 1, 3},
};

int64_t rounded_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::span<const FormatInfo> known_formats() { return kFormats; }

const FormatInfo* format_info(TensorFormat format) {
  const auto* at = std::ranges::find(kFormats, format, &FormatInfo::format);
  return at == std::end(kFormats) ? nullptr : at;
}

std::string format_words(TensorFormat format, const std::string& type) {
  const FormatInfo* info = format_info(format);
  if (info == nullptr) return "Unknown format";
  std::string words = info->words;
  words.replace(words.find("%T"), 2, type);
  return words + " (" + info->name + ")";
}

BlockLayout block_layout(TensorFormat format, std::span<const int64_t> sizes) {
  BlockLayout layout;
  const FormatInfo* info = format_info(format);
  const bool is_linear = info == nullptr || format == TensorFormat::kLINEAR;
  if (is_linear || sizes.size() < static_cast<size_t>(info->spatial) + 1) {
    for (const int64_t size : sizes) layout.inner *= size;
    return layout;
  }
  const size_t channel = sizes.size() - static_cast<size_t>(info->spatial) - 1;
  for (size_t i = 0; i < channel; ++i) layout.batch *= sizes[i];
  layout.channels = sizes[channel];
  for (size_t i = channel + 1; i < sizes.size(); ++i) layout.inner *= sizes[i];
  layout.block = info->block != 0
                     ? info->block
                     : rounded_up(std::max<int64_t>(1, layout.channels), info->multiple);
  layout.blocks = (layout.channels + layout.block - 1) / layout.block;
  return layout;
}

}  // namespace octet_trt
