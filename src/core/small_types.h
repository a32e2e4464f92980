// SPDX-License-Identifier: Apache-2.0
// The element types of fewer bits than 8, and the 8-bit floats: 4-bit and 2-bit integers, float8 and float4. In memory an
// element takes a byte: of a float the code in the low bits, of an integer its value in two's complement.
#pragma once

#include <span>
#include <string_view>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

enum class ScaleRounding : u8 { up, down, nearest };  // of e8m0, whose values are powers of two

struct SmallRounding {
  bool saturate =
      true;  // float8: beyond the range lies the largest finite value, not NaN or infinity
  ScaleRounding scale = ScaleRounding::up;
};

bool is_small_dtype(Dtype dtype);
bool is_small_integer(Dtype dtype);
int small_bits(Dtype dtype);  // 8, 4 or 2

// Exact. Bits above the type's are ignored, so that no file can make this undefined.
f32 small_to_f32(Dtype dtype, u8 byte);
// Floats: nearest, ties to even. Integers: toward zero, then the low bits, as Cast does between integers.
u8 small_from_f32(Dtype dtype, f32 value, const SmallRounding& rounding = {});
// The low bits of an integer.
u8 small_from_integer(Dtype dtype, s64 value);
struct SmallRange {
  s32 lowest, highest;
};
SmallRange small_integer_range(Dtype dtype);

// ONNX packs 8 / bits elements into a byte, the first into the low bits.
s64 packed_bytes(const TensorType& type);
void unpack_small(std::span<const u8> packed, Tensor& tensor);

}  // namespace octet
