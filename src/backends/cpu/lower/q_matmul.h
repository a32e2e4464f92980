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
};

// Both return why there is no kernel, or an empty string; the second for a product of two activations.
std::string read_matmul(const LowerRequest& request, MatmulRequest& matmul);
std::string read_activations(const LowerRequest& request, MatmulRequest& matmul);

// Refers to the request's constants.
MatmulSpec activations_spec(const MatmulRequest& matmul);

}  // namespace octet
