// SPDX-License-Identifier: Apache-2.0
// Attributes of conversions: between reals and codes, and between element types. In a graph a type is its name ("f32"); ONNX's numbers end at import.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/attributes.h"

namespace octet {

// QuantizeLinear, DequantizeLinear.
struct ScaleAttributes {
  s64 axis = 1;        // of more scales than one
  s64 block_size = 0;  // elements of a scale along `axis`; 0: one for each index

  OCTET_ATTRIBUTES(axis, block_size)
};

// Cast, RoundTo, BitCast.
struct CastAttributes {
  Dtype to = Dtype::f32;

  OCTET_REQUIRED_ATTRIBUTES(to)
};

// What an operator on codes writes before a table and before a sum: codes of a type, or reals (f32). ops/quantized/epilogue.h reads and checks it.
struct OutputCodesAttributes {
  Dtype output_dtype = Dtype::u8;
  s64 output_zero_point = 0;
  std::optional<s64> lo, hi;  // absent: those of the type

  OCTET_ATTRIBUTES(output_dtype, output_zero_point, lo, hi)
};

struct EpilogueAttributes : OutputCodesAttributes {
  std::vector<s64> input_zero_points;  // of each input; absent ones are 0
  f32 residual_multiplier = 0.0f;
  // Of the finer codes that a product's table of segments is for: what t is rounded to. The output's codes are then those behind it.
  std::optional<s64> fine_zero_point;

  OCTET_MORE_ATTRIBUTES(OutputCodesAttributes, input_zero_points, residual_multiplier,
                        fine_zero_point)
};

// The sum after a product of codes.
struct SumAttributes {
  Dtype sum_dtype = Dtype::u8;
  s64 sum_zero_point = 0;
  std::optional<s64> sum_lo, sum_hi;
  std::vector<f32> sum_multipliers;  // of the product's own codes, of the addend
  s64 sum_own_zero_point = 0;
  bool sum_addend_first = false;

  OCTET_ATTRIBUTES(sum_dtype, sum_zero_point, sum_lo, sum_hi, sum_multipliers, sum_own_zero_point,
                   sum_addend_first)
};

struct QAddAttributes {
  std::vector<f32> multipliers;  // of each operand

  OCTET_ATTRIBUTES(multipliers)
};

struct QMulAttributes {
  f32 multiplier = 0.0f;

  OCTET_REQUIRED_ATTRIBUTES(multiplier)
};

// A function of reals with codes as its result; the function's own attributes stand beside these.
struct QFunctionAttributes {
  std::string function;  // the operator's name
  f32 scale = 0.0f;

  OCTET_ATTRIBUTES(function, scale)
};

}  // namespace octet
