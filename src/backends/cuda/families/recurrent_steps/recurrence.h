// SPDX-License-Identifier: Apache-2.0
// What a kernel has to know of an LSTM, GRU or RNN, of reals or of codes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device/recurrent.h"
#include "backends/cuda/families/recurrent_steps/shape.h"
#include "backends/cuda/lower/step.h"
#include "core/divide.h"
#include "ops/shared/recurrent.h"

namespace octet::cuda {

constexpr size_t kRecOperands = kRecPeepholes + 1;

// Of products of codes. The weights' codes are reals on the device, and so are sums of products, which 24 bits must hold.
struct ProductsOfCodes {
  ElementType x = ElementType::u8;
  s32 zero_point = 0;
  f32 state_scale = 1.0f;
  Tensor multipliers = {};
};

struct Recurrence {
  std::string node = {};
  RecurrentGeometry g = {};
  RecurrentSizes sizes = {};
  std::array<bool, kRecOperands> reads{};
  std::array<Tensor, kRecOperands> constants = {};  // empty where a run brings the operand
  std::array<bool, 3> writes{};                     // y, the last h, the last c
  std::vector<std::string> functions = {};          // of x and the direction d
  f32 clip = 0.0f;                                  // 0: none
  bool input_forget = false;
  ElementType length = ElementType::s32;
  s64 at_once = 1;  // steps whose inputs are multiplied together
  RecurrentShape shape = {};
  std::optional<ProductsOfCodes> codes = {};

  s64 rows() const { return sizes.gates * g.hidden; }
  s64 rounds() const { return ceil_div(g.steps, shape.steps); }
  bool reports() const { return reads[kRecLengths] && !constants[kRecLengths]; }
  s64 sum_bytes() const { return g.directions * at_once * g.batch * rows() * s64{sizeof(f32)}; }
  s64 state_bytes() const { return g.state_shape().elements() * s64{sizeof(f32)}; }
  // Whether four neighbours of rows of `count` elements are one access.
  bool together(size_t i, s64 count, const BindArgs& bind) const {
    constexpr s64 kAccess = 16;
    return count % 4 == 0 && (constants[i] || bind.input_offset(i) % kAccess == 0);
  }
};

// Empty, or why no kernel takes it.
std::string read_recurrence(const LowerRequest& request, Recurrence& r);

}  // namespace octet::cuda
