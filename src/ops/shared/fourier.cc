// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/fourier.h"

#include <cmath>
#include <numbers>

namespace octet {

FourierLine::FourierLine(s64 length, bool inverse)
    : inverse_(inverse), input_(static_cast<size_t>(length)) {
  for (s64 i = 0; i < length; ++i) {
    const f64 angle = 2.0 * std::numbers::pi * static_cast<f64>(i) / static_cast<f64>(length);
    turns_.push_back({std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)});
  }
}

Complex FourierLine::result(s64 k) const {
  Complex sum;
  size_t turn = 0;
  for (const Complex& x : input_) {
    const Complex& w = turns_[turn];
    sum.re += x.re * w.re - x.im * w.im;
    sum.im += x.re * w.im + x.im * w.re;
    turn = (turn + static_cast<size_t>(k)) % turns_.size();
  }
  const f64 scale = inverse_ ? 1.0 / static_cast<f64>(input_.size()) : 1.0;
  return {sum.re * scale, sum.im * scale};
}

}  // namespace octet
