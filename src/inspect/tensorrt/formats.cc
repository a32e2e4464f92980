// SPDX-License-Identifier: Apache-2.0
#include "inspect/tensorrt/formats.h"

#include <array>

namespace octet {
namespace {

constexpr std::string_view kUnknown = "Unknown format";

// Of one element type: each layout's text, or nothing where TensorRT has none.
struct Texts {
  std::string_view linear, channels_last, by_4, by_8, by_16, blocks_of_32;
};

constexpr Texts kInt8 = {"Row major Int8 format",
                         "Channel major Int8 format",
                         "Channel major Int8 format where channel % 4 == 0",
                         "",
                         "Channel major INT8 format where channel % 16 == 0",
                         "Thirty-two wide channel vectorized row major Int8 format"};
constexpr Texts kFp32 = {"Row major linear FP32",
                         "Channel major FP32 format",
                         "Channel major FP32 format where channel % 4 == 0",
                         "",
                         "",
                         "Thirty-two wide channel vectorized row major FP32 format"};
constexpr Texts kFp16 = {"Row major linear FP16 format",
                         "Channel major FP16 format",
                         "Channel major FP16 format where channel % 4 == 0",
                         "Channel major FP16 format where channel % 8 == 0",
                         "Channel major FP16 format where channel % 16 == 0",
                         "Thirty-two wide channel vectorized row major FP16 format"};
constexpr Texts kBf16 = {"Row major linear BFloat16 format",
                         "",
                         "Channel major BFloat16 format where channel % 4 == 0",
                         "Channel major BFloat16 format where channel % 8 == 0",
                         "",
                         ""};
constexpr Texts kUint8 = {
    "Row major linear UInt8 format", "Channel major UInt8 format", "", "", "", ""};

Texts texts_of(Dtype dtype, bool codes) {
  if (codes) return kInt8;
  switch (dtype) {
    case Dtype::f32:
      return kFp32;
    case Dtype::f16:
      return kFp16;
    case Dtype::bf16:
      return kBf16;
    case Dtype::s8:
      return kInt8;
    case Dtype::u8:
      return kUint8;
    case Dtype::s32:
      return {"Row major linear Int32", "", "", "", "", ""};
    case Dtype::s64:
      return {"Row major linear Int64 format", "", "", "", "", ""};
    case Dtype::boolean:
      return {"Row major linear BOOL", "", "", "", "", ""};
    case Dtype::e4m3fn:
      return {"Row major linear FP8 format", "", "", "", "", ""};
    case Dtype::e2m1:
      return {"Row major linear FP4 format", "", "", "", "", ""};
    default:
      return {};
  }
}

TensorRtFormat format_of(std::string_view text, std::string_view name) {
  return {std::string(text.empty() ? kUnknown : text), std::string(name)};
}

// The most that the number of channels allows to say.
TensorRtFormat channels_last(const Texts& texts, s64 channels) {
  if (channels % 16 == 0 && !texts.by_16.empty()) return format_of(texts.by_16, "kHWC16");
  if (channels % 8 == 0 && !texts.by_8.empty()) return format_of(texts.by_8, "kHWC8");
  if (channels % 4 == 0 && !texts.by_4.empty()) return format_of(texts.by_4, "kHWC");
  return format_of(texts.channels_last, "kHWC");
}

}  // namespace

TensorRtFormat tensorrt_format(const TensorType& type, Layout layout, bool codes) {
  const Texts texts = texts_of(type.dtype, codes);
  switch (layout) {
    case Layout::nhwc:
      return channels_last(texts, type.shape.rank() == 4 ? type.shape[1] : 1);
    case Layout::nhwc_c32:  // pixels are rounded up
      return channels_last(texts, 32);
    case Layout::nc32hw32:
      return format_of(texts.blocks_of_32, "kCHW32");
    case Layout::linear:
      break;
  }
  return format_of(texts.linear, "kLINEAR");
}

std::string_view tensorrt_type_name(Dtype dtype) {
  constexpr std::array<std::string_view, kDtypeCount> kNames = {
      "Float", "Half",   "BFloat16", "Double", "Int8",  "UInt8", "Int16", "UInt16",
      "Int32", "UInt32", "Int64",    "UInt64", "Bool",  "FP8",   "FP8",   "FP8",
      "FP8",   "E8M0",   "FP4",      "Int4",   "UInt4", "Int2",  "UInt2"};
  return kNames[static_cast<size_t>(dtype)];
}

}  // namespace octet
