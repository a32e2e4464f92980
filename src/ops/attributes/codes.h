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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("axis", self.axis);
    field("block_size", self.block_size);
  }
};

// Cast, RoundTo, BitCast.
struct CastAttributes {
  Dtype to = Dtype::f32;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("to", self.to, kRequired);
  }
};

// What an operator on codes writes before a table and before a sum: codes of a type, or reals (f32). ops/quantized/epilogue.h reads and checks it.
struct OutputCodesAttributes {
  Dtype output_dtype = Dtype::u8;
  s64 output_zero_point = 0;
  std::optional<s64> lo, hi;  // absent: those of the type

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("output_dtype", self.output_dtype);
    field("output_zero_point", self.output_zero_point);
    field("lo", self.lo);
    field("hi", self.hi);
  }
};

struct EpilogueAttributes : OutputCodesAttributes {
  std::vector<s64> input_zero_points;  // of each input; absent ones are 0
  f32 residual_multiplier = 0.0f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    OutputCodesAttributes::fields(self, field);
    field("input_zero_points", self.input_zero_points);
    field("residual_multiplier", self.residual_multiplier);
  }
};

// The sum after a product of codes.
struct SumAttributes {
  Dtype sum_dtype = Dtype::u8;
  s64 sum_zero_point = 0;
  std::optional<s64> sum_lo, sum_hi;
  std::vector<f32> sum_multipliers;  // of the product's own codes, of the addend
  s64 sum_own_zero_point = 0;
  bool sum_addend_first = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("sum_dtype", self.sum_dtype);
    field("sum_zero_point", self.sum_zero_point);
    field("sum_lo", self.sum_lo);
    field("sum_hi", self.sum_hi);
    field("sum_multipliers", self.sum_multipliers);
    field("sum_own_zero_point", self.sum_own_zero_point);
    field("sum_addend_first", self.sum_addend_first);
  }
};

struct QAddAttributes {
  std::vector<f32> multipliers;  // of each operand

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("multipliers", self.multipliers);
  }
};

struct QMulAttributes {
  f32 multiplier = 0.0f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("multiplier", self.multiplier, kRequired);
  }
};

// A function of reals with codes as its result; the function's own attributes stand beside these.
struct QFunctionAttributes {
  std::string function;  // the operator's name
  f32 scale = 0.0f;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("function", self.function);
    field("scale", self.scale);
  }
};

}  // namespace octet
