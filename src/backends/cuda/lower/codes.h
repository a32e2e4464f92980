// SPDX-License-Identifier: Apache-2.0
// The end of integer operators as text of CUDA: kernels/elements.cu.
#pragma once

#include <string>

#include "ops/quantized/epilogue.h"

namespace octet::cuda {

// Exactly this value.
std::string exact_text(f32 value);
// fl(1 / scale) where kernels/elements.cu may multiply by it, else 0.
f32 reciprocal_of(f32 scale);
// The code of the real `t`.
std::string code_text(const Epilogue& epilogue, std::string t);
// The code `name` of input i less its zero point, as a real.
std::string centered_text(const Epilogue& epilogue, size_t i, const std::string& name);

}  // namespace octet::cuda
