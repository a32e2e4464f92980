// SPDX-License-Identifier: Apache-2.0
// For tests of kernels whose results are close to the reference's: NaN and infinities are the same (docs/numerics.md, section 8).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "octet/tensor.h"

namespace octet {

inline void expect_same_specials(const Tensor& got, const Tensor& want, const std::string& what) {
  for (size_t i = 0; i < want.as<f32>().size(); ++i) {
    const f32 g = got.as<f32>()[i], w = want.as<f32>()[i];
    ASSERT_EQ(std::isnan(g), std::isnan(w)) << what << " " << i;
    if (std::isinf(w)) {
      ASSERT_EQ(g, w) << what << " " << i;
    }
  }
}

}  // namespace octet
