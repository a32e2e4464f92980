// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/tensor_map.h"

#include <cstring>

#include "backends/cuda/driver.h"

namespace octet::cuda {
namespace {

// CUtensorMapSwizzle: 1, 2, 3 for 32, 64, 128 bytes.
int swizzle_of(s64 bytes) { return bytes == 32 ? 1 : bytes == 64 ? 2 : 3; }

std::uint64_t u64_of(s64 value) { return static_cast<std::uint64_t>(value); }
std::uint32_t u32_of(s64 value) { return static_cast<std::uint32_t>(value); }

TensorMap given(const CUtensorMap& map) {
  TensorMap result;
  static_assert(sizeof result == sizeof map);
  std::memcpy(&result, &map, sizeof map);
  return result;
}

// The driver's functions take addresses without const; they write none.
void* address(const void* data) { return const_cast<void*>(data); }

struct ImageArguments {
  std::uint64_t sizes[4];
  std::uint64_t strides[3];

  explicit ImageArguments(const ImageMap& map) {
    for (size_t i = 0; i < 4; ++i) sizes[i] = u64_of(map.sizes[i]);
    for (size_t i = 0; i < 3; ++i) strides[i] = u64_of(map.strides[i]);
  }
};

}  // namespace

TensorMap rows_map(const CudaDevice& device, const RowsMap& map, const void* data) {
  const std::uint64_t sizes[] = {u64_of(map.row_bytes), u64_of(map.rows)};
  const std::uint64_t strides[] = {u64_of(map.stride)};
  const std::uint32_t box[] = {u32_of(map.box_bytes), u32_of(map.box_rows)};
  const std::uint32_t ones[] = {1, 1};
  CUtensorMap encoded;
  device.check_call(driver().cuTensorMapEncodeTiled(
                        &encoded, kTensorMapBytes, 2, address(data), sizes, strides, box, ones,
                        kNoInterleave, swizzle_of(map.box_bytes), kL2Promotion256, kNoFill),
                    "to describe rows");
  return given(encoded);
}

TensorMap tile_map(const CudaDevice& device, const ImageMap& map, s64 box_width, s64 box_height,
                   const void* data) {
  const ImageArguments arguments(map);
  const std::uint32_t box[] = {u32_of(map.box_bytes), u32_of(box_width), u32_of(box_height), 1};
  const std::uint32_t ones[] = {1, 1, 1, 1};
  CUtensorMap encoded;
  device.check_call(
      driver().cuTensorMapEncodeTiled(&encoded, kTensorMapBytes, 4, address(data), arguments.sizes,
                                      arguments.strides, box, ones, kNoInterleave,
                                      swizzle_of(map.box_bytes), kL2Promotion256, kNoFill),
      "to describe images");
  return given(encoded);
}

TensorMap im2col_map(const CudaDevice& device, const ImageMap& map, const Windows& windows,
                     const void* data) {
  const ImageArguments arguments(map);
  const int lower[] = {static_cast<int>(windows.lower[0]), static_cast<int>(windows.lower[1])};
  const int upper[] = {static_cast<int>(windows.upper[0]), static_cast<int>(windows.upper[1])};
  const std::uint32_t steps[] = {1, u32_of(windows.stride[0]), u32_of(windows.stride[1]), 1};
  CUtensorMap encoded;
  device.check_call(
      driver().cuTensorMapEncodeIm2col(&encoded, kTensorMapBytes, 4, address(data), arguments.sizes,
                                       arguments.strides, lower, upper, u32_of(map.box_bytes),
                                       u32_of(windows.pixels), steps, kNoInterleave,
                                       swizzle_of(map.box_bytes), kL2Promotion256, kNoFill),
      "to describe windows of images");
  return given(encoded);
}

}  // namespace octet::cuda
