// SPDX-License-Identifier: Apache-2.0
// What float lowerings share: picking a kernel for the instruction set, layouts, typed pointers of a step.
#pragma once

#include <string>
#include <string_view>

#include "backends/cpu/device.h"
#include "ops/shared/window.h"
#include "plan/offer.h"

namespace octet {

// Below this many multiply-adds, waking a thread costs more than it saves.
inline constexpr s64 kSerialMacs = 500000;

// Why kernels of vectors do not run there; empty: they do.
inline std::string vectors_reject(Isa isa) {
  return isa.has(Isa::avx2) || isa.has(Isa::neon) ? "" : "the instruction set has no vectors";
}

// The one of an instruction set's functions {avx2, vnni, neon} that this target runs; null where it has no vectors.
template <class Kernel>
auto kernel_for(const Kernel& kernel, Isa isa) -> decltype(kernel.avx2) {
  if (isa.has(Isa::neon)) return kernel.neon;
  if (!isa.has(Isa::avx2)) return nullptr;
  return isa.has(Isa::vnni) ? kernel.vnni : kernel.avx2;
}

inline std::string kernel_name(std::string_view family, std::string_view name, Isa isa) {
  const char* level = isa.has(Isa::vnni) ? "_vnni" : isa.has(Isa::neon) ? "_neon" : "_avx2";
  return std::string(family) + "_" + std::string(name) + level;
}

inline const f32* f32_input(const StepArgs& args, size_t i) {
  return reinterpret_cast<const f32*>(args.inputs[i]);
}
inline f32* f32_output(const StepArgs& args, size_t i) {
  return reinterpret_cast<f32*>(args.outputs[i]);
}

// True when inputs (present ones) and outputs are all f32.
bool all_f32(const LowerRequest& request);

// The input as one f32 constant, or nothing when it is not a constant; `otherwise` when it is omitted.
bool scalar_constant(const LowerRequest& request, size_t i, f32 otherwise, f32& value);

// A rank-4 constant in linear order, copied into the memory order of `layout`.
Tensor in_layout(const Tensor& tensor, Layout layout);

// A tensor that was prepared; it keeps its preparation in use, which a copy of the Tensor alone does not.
Tensor prepared_tensor(const BindArgs& bind, size_t i);

// Rejects shared by float lowerings; empty when there is none.
std::string float_reject(const LowerRequest& request);
// The same of what oneDNN computes, whose kernels are those of x86-64.
std::string dnnl_reject(const LowerRequest& request);
// Windows that lie mostly in padding, whose span kernels copy or add up in sizes that would wrap, oneDNN's too. Empty: they do not.
std::string span_reject(const Window& window);
// Why our kernels of an image's convolution with constant weights, and nothing added, do not take it, its types apart; empty: they may.
std::string image_conv_reject(const LowerRequest& request);

}  // namespace octet
