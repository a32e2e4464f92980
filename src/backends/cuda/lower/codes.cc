// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/codes.h"

#include <fmt/format.h>

#include <bit>

namespace octet::cuda {

std::string exact_text(f32 value) {
  return fmt::format("f32_bits(0x{:08x}u)", std::bit_cast<u32>(value));
}

f32 reciprocal_of(f32 scale) {
  constexpr f32 kLeast = 0x1p-60f, kMost = 0x1p60f;
  constexpr u32 kMantissa = (1u << 23) - 1;
  const bool all_ones = (std::bit_cast<u32>(scale) & kMantissa) == kMantissa;
  return scale >= kLeast && scale <= kMost && !all_ones ? 1.0f / scale : 0.0f;
}

CodeEndSpec code_end_spec(const Epilogue& epilogue) {
  const Activation& activation = epilogue.activation;
  const bool leaky = activation.kind == Activation::Kind::leaky_relu;
  return {.leaky = leaky,
          .alpha = bits_of(leaky ? activation.alpha : 0.0f),
          .zero_point = epilogue.range.zero_point,
          .lo = epilogue.range.lo,
          .hi = epilogue.range.hi};
}

std::string code_text(const Epilogue& epilogue, std::string t) {
  const Activation& activation = epilogue.activation;
  if (activation.kind == Activation::Kind::leaky_relu)
    t = fmt::format("leaky({}, {})", t, exact_text(activation.alpha));
  return fmt::format("code_of_real({}, {}, {}, {})", t, epilogue.range.zero_point,
                     epilogue.range.lo, epilogue.range.hi);
}

std::string centered_text(const Epilogue& epilogue, size_t i, const std::string& name) {
  return fmt::format("centered({}, {})", name, epilogue.zero_point(i));
}

}  // namespace octet::cuda
