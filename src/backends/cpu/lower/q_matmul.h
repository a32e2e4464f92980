// SPDX-License-Identifier: Apache-2.0
// What the lowerings of QMatMul read of a node.
#pragma once

#include <string>

#include "backends/cpu/kernels/codes/matmul/matmul.h"
#include "backends/cpu/lower/q_common.h"

namespace octet {

struct MatmulRequest {
  MatMulViews views;
  Epilogue epilogue;
  ProductConstants constants;
  Tensor
      b;  // u8, of a product that has two activations in the model and a constant in this plan; else empty

  const u8* b_of(const StepArgs& args) const {
    return b ? b.as<u8>().data() : u8_input(args, kProductWeights);
  }
};

// Both return why there is no kernel, or an empty string; the second for a product of two activations, or by constant codes that are no
// packed weights: a batch of matrices, one that is turned, or one with a zero point.
std::string read_matmul(const LowerRequest& request, MatmulRequest& matmul);
std::string read_activations(const LowerRequest& request, MatmulRequest& matmul);

// Refers to the request's constants.
MatmulSpec activations_spec(const MatmulRequest& matmul);

}  // namespace octet
