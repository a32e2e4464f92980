// SPDX-License-Identifier: Apache-2.0
// The end of integer operators as kernels know it: fields of a spec, and text in the words of device/elements.cuh.
#pragma once

#include <string>

#include "backends/cuda/device/code_end.h"
#include "ops/quantized/epilogue.h"

namespace octet::cuda {

// Exactly this value.
std::string exact_text(f32 value);
// fl(1 / scale) where device/elements.cuh may multiply by it, else 0.
f32 reciprocal_of(f32 scale);
CodeEndSpec code_end_spec(const Epilogue& epilogue);
// The code of the real `t`.
std::string code_text(const Epilogue& epilogue, std::string t);
// The code `name` of input i less its zero point, as a real.
std::string centered_text(const Epilogue& epilogue, size_t i, const std::string& name);

}  // namespace octet::cuda
