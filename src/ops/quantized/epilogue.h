// SPDX-License-Identifier: Apache-2.0
// The end of every integer operator: accumulator -> code or real (docs/numerics.md sections 3 and 4), read once from the
// node's attributes. The scalar form here is the definition; CPU lowerings read the same struct.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "core/fine_table.h"
#include "core/rounding.h"
#include "core/types.h"
#include "graph/op_def.h"
#include "ops/shared/activation.h"

namespace octet {

// The addition that takes the codes so far as one operand and input kProductAddend as the other: two roundings, as if QAdd
// followed (attributes sum_*). Its own operand is always u8.
struct SumStage {
  Dtype output_dtype = Dtype::u8;
  CodeRange range;
  f32 own_multiplier = 0.0f;  // fl(scale_own / scale_y)
  f32 addend_multiplier = 0.0f;
  s32 own_zero_point = 0;
  bool addend_first = false;  // which operand fma() multiplies: QAdd's first
};

// QAdd's t; `own` and `addend` are codes less their zero points.
inline f32 apply(const SumStage& sum, s32 own, s32 addend) {
  const auto a = static_cast<f32>(own), b = static_cast<f32>(addend);
  return sum.addend_first ? std::fmaf(b, sum.addend_multiplier, a * sum.own_multiplier)
                          : std::fmaf(a, sum.own_multiplier, b * sum.addend_multiplier);
}

struct Epilogue {
  Dtype output_dtype = Dtype::u8;      // u8 or s8, of the codes before a table of 256; or f32
  CodeRange range;                     // meaningful for codes
  std::vector<s32> zero_points;        // of the inputs
  f32 residual_multiplier = 0.0f;      // fl(scale_r / scale_y), or scale_r for f32
  Activation activation;               // codes: none or leaky_relu; f32: any
  std::optional<SumStage> sum;         // with input kProductAddend
  std::optional<s32> fine_zero_point;  // the table is of segments: of the codes before it

  s32 zero_point(size_t input) const { return input < zero_points.size() ? zero_points[input] : 0; }
  bool real() const { return output_dtype == Dtype::f32; }
};

// Throws Error(invalid_model) for values that no dtype allows; a node that passed is safe to run.
Epilogue epilogue_of(const Node& node);

// Inputs of QConv and QMatMul have the same places.
enum IntegerProductInput : size_t {
  kProductX = 0,
  kProductWeights = 1,
  kProductBias = 2,
  kProductMultiplier = 3,
  kProductResidual = 4,
  kProductTable = 5,  // 256 codes, or s32 segments (core/fine_table.h)
  kProductAddend = 6,
};

// t after the multiply; `residual` is r - zp_r.
inline f32 add_residual(const Epilogue& epilogue, f32 t, s32 residual) {
  return std::fmaf(static_cast<f32>(residual), epilogue.residual_multiplier, t);
}

// The code for t (before a table of 256).
inline s32 to_code(const Epilogue& epilogue, f32 t) {
  return requantize(apply(epilogue.activation, t), epilogue.range);
}

// Index of a code in a 256-entry table.
inline size_t table_index(s32 code, Dtype dtype) {
  return static_cast<size_t>(dtype == Dtype::s8 ? code + 128 : code);
}

// Lowest and highest code of u8 or s8.
CodeRange code_range(Dtype dtype);
inline bool is_code(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::s8; }

// Infers the output type of QConv or QMatMul of this shape and checks bias, multiplier, residual, table and addend
// against `channels`; zero points against their inputs' dtypes.
void infer_product_epilogue(Inference& inference, const Shape& output, s64 channels);
// The same for operators without those inputs.
void infer_code_output(Inference& inference, const Shape& output);

// Finishes one accumulator at a time of QConv or QMatMul.
class ProductEpilogue {
 public:
  explicit ProductEpilogue(const Eval& eval);
  const Epilogue& attributes() const { return epilogue_; }
  // `index` into the output (and residual), `channel` into bias and multiplier; acc without the bias, exact.
  void store(s64 index, s64 channel, s64 acc) const;

 private:
  s32 code_behind_table(f32 t) const;

  Epilogue epilogue_;
  std::span<const s32> bias_;
  std::span<const f32> multiplier_;
  ConstView residual_;
  ConstView table_;
  ConstView addend_;
  MutableView output_;
};

// Code at index i of a u8, s8 or s16 tensor.
inline s32 code_at(const ConstView& view, size_t i) {
  if (view.dtype == Dtype::s16) return s32{static_cast<const s16*>(view.data)[i]};
  return view.dtype == Dtype::u8 ? s32{static_cast<const u8*>(view.data)[i]}
                                 : s32{static_cast<const s8*>(view.data)[i]};
}
inline void store_code(const MutableView& view, size_t i, s32 code) {
  if (view.dtype == Dtype::u8) {
    static_cast<u8*>(view.data)[i] = static_cast<u8>(code);
  } else {
    static_cast<s8*>(view.data)[i] = static_cast<s8>(code);
  }
}

// q - zero_point of every element.
std::vector<s16> centered_codes(const ConstView& view, s32 zero_point);

}  // namespace octet
