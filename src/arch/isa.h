// SPDX-License-Identifier: Apache-2.0
// What the processor's instructions are: a set of features, of which a kernel names those that it needs. No processor is ranked: one that
// has a feature need not have another (ADR 31).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/types.h"

namespace octet {

// What one kernel needs and another does not; instructions that always come together are one feature.
enum class Feature : u8 {
  // x86-64
  avx2,         // with FMA and F16C
  avx_vnni,     // the 256-bit vpdpbusd of client processors
  avx512_vnni,  // AVX-512 F, BW, DQ and VL, with VNNI and VBMI
  avx512_bf16,
  amx_int8,
  // aarch64
  neon,      // 128-bit vectors, with fused multiply-adds of f32
  dotprod,   // sdot, udot
  i8mm,      // smmla, usmmla and usdot
  arm_fp16,  // arithmetic in f16
  arm_bf16,  // bfmmla
  sve,
  sve2,
};

class Isa {
 public:
  constexpr Isa() = default;
  constexpr Isa(std::initializer_list<Feature> features) {
    for (const Feature feature : features) bits_ |= u32{1} << static_cast<u8>(feature);
  }

  // Whether all features of the other are among these.
  constexpr bool has(Isa other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr bool has(Feature feature) const { return has(Isa{feature}); }
  constexpr Isa with(Isa other) const { return Isa(bits_ | other.bits_); }
  constexpr Isa common(Isa other) const { return Isa(bits_ & other.bits_); }
  constexpr bool operator==(const Isa&) const = default;
  // For containers that sort; says nothing else.
  constexpr u32 bits() const { return bits_; }

  // What the kernels of a level need. Kernels are named after levels, and OCTET_CPU_ISA names one.
  static const Isa none, avx2, avx_vnni, vnni, amx;  // of x86-64
  static const Isa neon, dotprod, i8mm;              // of aarch64

 private:
  constexpr explicit Isa(u32 bits) : bits_(bits) {}

  u32 bits_ = 0;
};

inline constexpr Isa Isa::none = {};
inline constexpr Isa Isa::avx2 = {Feature::avx2};
inline constexpr Isa Isa::avx_vnni = {Feature::avx2, Feature::avx_vnni};
inline constexpr Isa Isa::vnni = {Feature::avx2, Feature::avx512_vnni};
inline constexpr Isa Isa::amx = {Feature::avx2, Feature::avx512_vnni, Feature::amx_int8};
inline constexpr Isa Isa::neon = {Feature::neon};
inline constexpr Isa Isa::dotprod = {Feature::neon, Feature::dotprod};
inline constexpr Isa Isa::i8mm = {Feature::neon, Feature::dotprod, Feature::i8mm};

// Those of all architectures, each in the order of its kernels' speed, where a processor has several.
inline constexpr Isa kIsaLevels[] = {Isa::none, Isa::avx2, Isa::avx_vnni, Isa::vnni,
                                     Isa::amx,  Isa::neon, Isa::dotprod,  Isa::i8mm};

// Of the fastest level whose features are among these: "none", "avx2", "avx_vnni", "vnni" or "amx"; on aarch64 "neon", "dotprod" or "i8mm".
std::string_view isa_name(Isa isa);
// What the processor has that no level of its architecture names: "bf16, fp16". Empty on x86-64.
std::string isa_extras(Isa isa);
// What that level's kernels need.
Isa isa_level(Isa isa);
// The features that a cap at the level leaves. One of another architecture leaves none.
Isa capped(Isa isa, Isa level);
// What the machine has, capped by the level that OCTET_CPU_ISA names. Throws Error(invalid_argument) for another value.
Isa detect_isa();
// What the machine has, whatever the environment says.
Isa hardware_isa();
// Whether code that needs these runs here; for tests that sweep the levels.
bool hardware_has(Isa isa);
// Whether the CPU has products of bf16, and the environment does not hide them.
bool cpu_multiplies_bf16();

}  // namespace octet
