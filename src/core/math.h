// SPDX-License-Identifier: Apache-2.0
// The transcendental functions of float islands (docs/numerics.md, section 7). Each is one fixed sequence of add, mul,
// fma, div and bit moves without branches, so that SIMD and CUDA versions written step by step give the same bits.
// Errors are at most 2 ulp; denormals are kept; infinities and NaN behave as in C.
#pragma once

#include "core/types.h"

namespace octet {

f32 math_exp(f32 x);
f32 math_log(f32 x);
f32 math_erf(f32 x);
f32 math_tanh(f32 x);
f32 math_sigmoid(f32 x);

// Activations whose sequence of roundings must also be agreed on.
f32 math_swish(f32 x, f32 alpha = 1.0f);  // x * sigmoid(alpha * x)
f32 math_gelu(f32 x);                     // (0.5 * x) * (1 + erf(x / sqrt 2))
f32 math_gelu_tanh(f32 x);  // (0.5 * x) * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
f32 math_hard_sigmoid(f32 x, f32 alpha,
                      f32 beta);  // clamp(fma(alpha, x, beta), 0, 1)
f32 math_hard_swish(f32 x);       // x * math_hard_sigmoid(x, 1 / 6, 0.5)

}  // namespace octet
