// SPDX-License-Identifier: Apache-2.0
// What a generation of chips can do (docs/adr/0027-architectures.md). Each has a file of this folder and a row of architectures.def; a compute capability is
// compared here and nowhere else: who needs to know asks for an instruction, a limit or a cost by its name.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/arch/instructions.h"

namespace octet::cuda {

// As the driver says it: 9.0.
struct Capability {
  int major = 0, minor = 0;

  std::string text() const;  // "9.0"
  // As compilers write it: 90.
  constexpr int number() const { return 10 * major + minor; }
  friend constexpr auto operator<=>(const Capability&, const Capability&) = default;
};

enum class ArchitectureId : u8 {
#define ARCHITECTURE(id, object) id,
#include "backends/cuda/arch/architectures.def"
#undef ARCHITECTURE
};

// Of one multiprocessor.
struct ArchitectureLimits {
  s64 threads = 0, shared_bytes = 0, shared_bytes_per_block = 0;
  s64 registers = s64{64} << 10;
  s64 reserved_shared_bytes = s64{1} << 10;  // of each block
};

// Whether a compiler gives PTX for such a target, of which the driver makes machine code.
constexpr bool is_ptx(std::string_view target) { return target.starts_with("compute_"); }

struct Architecture {
  ArchitectureId id;
  // What the compiler is asked for: "sm_90a"; "compute_90" for PTX.
  const char* target;
  Capability capability;
  // Of the oldest compiler that knows the target.
  int cuda_major = 12, cuda_minor = 0;
  InstructionSet instructions;
  ArchitectureLimits limits = {};
  // Products of s8 that its tensor units make of one multiprocessor in a cycle at best, by whatever instruction; 0: none is published.
  f64 most_products_s8 = 0;
  // Whose costs are taken where costs.csv has none of its own; its own id: it has them all.
  ArchitectureId costs_from;
  // Products sold as GeForce make half as many products of f16 with sums of f32 as others of the generation.
  bool geforce_halves_f16 = false;

  // Not a generation but what all later chips run.
  constexpr bool is_plain() const { return is_ptx(target); }
};

const Architecture& architecture(ArchitectureId id);
std::span<const Architecture* const> architectures();

// What kernels are made of for a chip.
struct Compilation {
  const Architecture* architecture = nullptr;
  std::string target;
};
// A chip that no row names runs the kernels of the newest plain architecture that is not newer than it, as its own machine code where the compiler knows
// it (`compiler_knows`: 90 for 9.0; asked only where it matters), and else as PTX. Nothing: the chip lacks what all kernels need.
std::optional<Compilation> compilation_for(Capability chip,
                                           const std::function<std::vector<int>()>& compiler_knows);
// "mma of s8, which chips have from 7.5 on"
std::string needs_of_all_kernels();

// What is made for a chip in place of what would be, to run the kernels of an older one on it: OCTET_CUDA_ARCHITECTURE, "7.5". They are PTX, since machine code of
// another generation does not run, and the chip counts as one with the older one's limits. Nothing where it is not set; throws Error(invalid_argument) for what is no older capability.
std::optional<Compilation> compilation_as_asked(Capability chip);

// -DOCTET_WITHOUT_CP_ASYNC and so on, of what the chips of a target lack.
std::vector<std::string> options_for(std::string_view target);

// Whether a product makes products of f16 at half its generation's rate.
bool halves_f16(const Architecture& architecture, std::string_view product);

}  // namespace octet::cuda
