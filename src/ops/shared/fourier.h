// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of one line, in f64: what DFT and STFT are made of.
#pragma once

#include <cstddef>
#include <vector>

#include "core/types.h"

namespace octet {

struct Complex {
  f64 re = 0.0, im = 0.0;
};

class FourierLine {
 public:
  // The inverse is divided by the length.
  FourierLine(s64 length, bool inverse);

  s64 length() const { return static_cast<s64>(input_.size()); }
  void set(s64 i, Complex value) { input_[static_cast<size_t>(i)] = value; }
  // Element k of the transform: a sum of `length` terms.
  Complex result(s64 k) const;

 private:
  bool inverse_;
  std::vector<Complex> input_;
  std::vector<Complex> turns_;
};

}  // namespace octet
