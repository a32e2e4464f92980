// SPDX-License-Identifier: Apache-2.0
// Values of bf16 in a plan for a CPU. A Model rounds by RoundTo, between values of f32; what is rounded to bf16 and read by kernels that know it is
// stored in 16 bits: half the bytes between layers, and products of AVX512_BF16 read it as it is.
#pragma once

#include <string>

#include "arch/isa.h"
#include "core/types.h"
#include "graph/graph.h"
#include "octet/tensor.h"
#include "plan/offer.h"

namespace octet {

// Whether plans for these features store halves.
bool stores_bf16(Isa isa);
// Whether the layer multiplies pairs of bf16 by AVX512_BF16. Tiles (AMX) are oneDNN's.
bool multiplies_pairs(const Node& node, Isa isa);

inline bool is_stored_half(const TensorType& type) { return type.dtype == Dtype::bf16; }
inline s64 element_bytes(bool half) { return static_cast<s64>(half ? sizeof(bf16) : sizeof(f32)); }

// Values whose readers and writer all have kernels for it become bf16. After join_roundings().
void store_bf16(Graph& graph, Isa isa);

// As float_reject(), but values of a run may be stored in 16 bits.
std::string halves_reject(const LowerRequest& request);

// `count` numbers of bf16 that are kept as f32, to memory.
void narrowed(const f32* from, s64 count, std::byte* to) noexcept;

// The definition, between values of f32 that it makes of those of 16 bits.
Candidate widened_reference(const LowerRequest& request);

}  // namespace octet
