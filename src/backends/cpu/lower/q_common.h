// SPDX-License-Identifier: Apache-2.0
// What integer lowerings share: epilogues as kernel arguments, constants of a product, placements with every stride set.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/codes/epilogue_args.h"
#include "ops/quantized/epilogue.h"
#include "plan/offer.h"

namespace octet {

// The codes before a table may be s8: they are relabelled as u8, which is what indexes the table.
EpilogueArgs epilogue_args(const Epilogue& epilogue, const Tensor* table);
// Empty when the kernels can write the output: u8, f32, or codes that go through a table.
std::string epilogue_reject(const Epilogue& epilogue, bool has_table);

// Constant operands of QConv and QMatMul. Tensors share the graph's memory.
struct ProductConstants {
  Tensor bias;  // may be empty
  Tensor multiplier;
  Tensor table;  // as EpilogueArgs has it; may be empty

  // Of which a kernel's weights are packed.
  std::vector<Tensor> packed_with(const Tensor& weights) const {
    return {weights, bias, multiplier};
  }
  std::span<const s32> bias_values() const {
    return bias ? bias.as<s32>() : std::span<const s32>();
  }
  const Tensor* table_or_null() const { return table ? &table : nullptr; }
  bool has_residual() const { return residual != kNoInput || row; }
  const u8* residual_of(const StepArgs& args) const {
    if (row) return row.as<u8>().data();
    return residual != kNoInput ? reinterpret_cast<const u8*>(args.inputs[residual]) : nullptr;
  }

  static constexpr size_t kNoInput = ~size_t{0};
  size_t residual = kNoInput;  // the input that kernels take as such: a residual or an addend
  Tensor row;                  // an addend that is one constant row, u8; may be empty
};
// Fills `constants`; returns why an operand does not fit, or an empty string.
std::string product_constants(const LowerRequest& request, ProductConstants& constants);
// Whether stores of a pixel's channels never reach, not even masked, into those of the next: writing over the residual makes
// its loads wait for them otherwise (24 channels: 45 us instead of 30).
inline bool keeps_apart(s64 channels) { return channels % 64 == 0; }
// What a product with an addend says beside its kernel; else empty.
std::string sum_note(const LowerRequest& request);

// The weights of a kernel class (DenseConv, FlatDepthwise...) in the order of a row of its table. make_spec() gives the spec, and
// keeps alive what it refers to: the constants.
template <class Kernel, class Row, class MakeSpec>
std::vector<Preparation> packing(const Row& row, std::vector<Tensor> constants,
                                 const MakeSpec& make_spec) {
  return {preparation<typename Kernel::Packed>(
      Kernel::pack_key(row, make_spec()), std::move(constants),
      [&row, make_spec] { return Kernel::pack(row, make_spec()); })};
}

// The placement with strides that are zero (dense values) filled in. A linear rank-4 value is not accepted.
Placement nhwc_placement(const Shape& shape, const Placement& placement);

// Layout of a step that works on nhwc when any rank-4 activation input is nhwc, else on linear.
Layout common_layout(const LowerRequest& request);

// A Candidate with `inputs` input layouts (all `layout` for rank 4, else linear) and outputs likewise.
Candidate candidate_of(const LowerRequest& request, const char* kernel, Layout layout);

inline const u8* u8_input(const StepArgs& args, size_t i) {
  return reinterpret_cast<const u8*>(args.inputs[i]);
}
inline u8* u8_output(const StepArgs& args, size_t i) {
  return reinterpret_cast<u8*>(args.outputs[i]);
}

}  // namespace octet
