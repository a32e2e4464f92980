// SPDX-License-Identifier: Apache-2.0
// In which type a layer computes, and why: decided by the build, kept in the engine, shown by every inspection.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "octet/tensor.h"

namespace octet {

// What a layer computes in: 8-bit codes with sums of 32 bits, or elements of a type. Real-valued layers that are not int8 are
// f32, f16 or bf16; f64 and the integers are shape and index arithmetic, and s8 there has no scale.
enum class Precision : uint8_t {
  none,  // nothing is decided
  int8,
  f32,  // from here on in the order of Dtype
  f16,
  bf16,
  f64,
  s8,
  u8,
  s16,
  u16,
  s32,
  u32,
  s64,
  u64,
  boolean,
  e4m3fn,
  e4m3fnuz,
  e5m2,
  e5m2fnuz,
  e8m0,
  e2m1,
  s4,
  u4,
  s2,
  u2,
};

std::string_view to_string(Precision precision);  // "int8", "f32", "s64"; empty for none
std::optional<Precision> precision_from(std::string_view name);
Precision precision_of(Dtype dtype);  // of elements that are no codes

// Why a layer has its precision; docs/reasons.md explains each. Programs tell reasons apart by these, people by the sentence
// that comes with them and names the tensors.
enum class ReasonCode : uint8_t {
  none,  // nothing is decided, or the engine is older than these codes
  // int8
  constant_weights,
  product_of_activations,
  joins_codes,
  table_of_codes,
  moves_codes,
  qdq_in_model,
  boundary,
  hoisted_boundary,
  shared_scale,
  quantized_twice,
  ordered_phases,
  codes_of_rows,
  relabeled,
  // f32
  float_build,
  kept_by_user,
  no_integer_form,
  kept_for_accuracy,
  channel_loss,
  no_real_input,
  no_range,
  unusable_range,
  refused_by_operator,
  model_output,
  float_input,
  no_int8_reader,
  no_codes_came,
  no_qdq,
  inspected_value,
  // any
  not_real,
  unknown_type,
  layout_change,
};
inline constexpr int kReasonCodeCount = static_cast<int>(ReasonCode::layout_change) + 1;

std::string_view to_string(ReasonCode code);  // "constant_weights"; empty for none
// What a user can do about a layer that is not in INT8 for this reason; empty where nothing is known to help.
std::string_view remedy_of(ReasonCode code);
std::optional<ReasonCode> reason_code_from(std::string_view name);

}  // namespace octet
