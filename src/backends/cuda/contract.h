// SPDX-License-Identifier: Apache-2.0
// What the host decides of a kernel is one struct, declared in families/NAME/spec.h, which the host, NVIDIA's compiler and the emulated GPU all
// compile (docs/adr/0028-kernel-contract.md). The host fills it, source_of() (kernel.h) writes it down as the kernel's constant, and what both need to
// know of it (bytes of shared memory, threads, tiles) is a constexpr function beside it.
//
//   #define FOLD_FIELDS(FIELD) FIELD(s32, height) FIELD(PixelStrides, x)
//   OCTET_SPEC(Spec, FOLD_FIELDS)
//
// A field is bool, s32, s64, an enum of s32, F32Bits, such a struct, or a List of them. The host writes designated initializers; one that is missing does not
// compile (-Wmissing-field-initializers).
#pragma once

#ifdef __CUDACC_RTC__  // device/prelude.cuh has the types
#define OCTET_SPEC(Name, FIELDS) \
  struct Name {                  \
    FIELDS(OCTET_FIELD_MEMBER)   \
  };
#else
#include <bit>

#include "core/types.h"

#define OCTET_SPEC(Name, FIELDS)                                \
  struct Name {                                                 \
    FIELDS(OCTET_FIELD_MEMBER)                                  \
    friend bool operator==(const Name&, const Name&) = default; \
  };                                                            \
  template <class Visit>                                        \
  void for_each_field(const Name& spec, const Visit& visit) {   \
    FIELDS(OCTET_FIELD_VISIT)                                   \
  }
#define OCTET_FIELD_VISIT(type, name) visit(#name, spec.name);
#endif
#define OCTET_FIELD_MEMBER(type, name) type name;

// What must hold of a spec, with the reason, as a list RULES(RULE) of RULE(condition on `s`, "why not"): refusal(spec) is the reason or null, and the kernel
// does not compile where there is one.
#define OCTET_RULES(Name, RULES)                 \
  constexpr const char* refusal(const Name& s) { \
    RULES(OCTET_RULE_REASON)                     \
    return nullptr;                              \
  }
#define OCTET_RULE_REASON(holds, why) \
  if (!(holds)) return why;
#define OCTET_RULE_ASSERT(holds, why) static_assert(holds, why);

namespace octet::cuda {

// A member of a kernel's spec as a type, for helpers that are templates over it: `using End = Epilogue<PartOf<Made, &Spec::end>>`, where `Made` (kernel.cc
// writes it) holds the spec that the kernel is compiled for.
template <class Made, auto kMember>
struct PartOf {
  static constexpr auto spec() { return Made::spec().*kMember; }
};

// An f32 by its bits: infinities and NaN reach the kernel as they are.
struct F32Bits {
  u32 bits;
#ifndef __CUDACC_RTC__
  friend bool operator==(F32Bits, F32Bits) = default;
#endif
};
#ifndef __CUDACC_RTC__
constexpr F32Bits bits_of(f32 value) { return {std::bit_cast<u32>(value)}; }
#else
__device__ __forceinline__ f32 value_of(F32Bits f) { return f32_bits(f.bits); }
#endif

// Up to kMost structs of fields; those behind `count` are zeros.
template <class T, u32 kMost>
struct List {
  s32 count;
  T at[kMost];
#ifndef __CUDACC_RTC__
  friend bool operator==(const List&, const List&) = default;
#endif
};

constexpr s32 ceil_div_s32(s32 a, s32 b) { return (a + b - 1) / b; }

}  // namespace octet::cuda
