// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/arch/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "backends/cuda/arch/boards.h"
#include "backends/cuda/arch/costs.h"

namespace octet::cuda {
namespace {

using ::testing::HasSubstr;

constexpr int kNewest = 130;  // of CUDA's, in these tests

std::vector<int> of_cuda_12_0() { return {50, 52, 60, 70, 75, 80, 86, 87, 89, 90}; }
std::vector<int> of_cuda_13_0() { return {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}; }

std::string target_for(Capability chip, const std::vector<int>& known) {
  const auto found = compilation_for(chip, [&] { return known; });
  return found ? found->target : "";
}

TEST(Architecture, ChipsWithFilesHaveMachineCodeWhateverTheCompilerIs) {
  const auto never = []() -> std::vector<int> {
    ADD_FAILURE() << "the compiler is asked";
    return {};
  };
  for (const auto& [chip, target] : {std::pair<Capability, const char*>{{7, 5}, "sm_75"},
                                     {{8, 0}, "sm_80"},
                                     {{8, 7}, "sm_87"},
                                     {{8, 6}, "sm_86"},
                                     {{8, 9}, "sm_89"},
                                     {{9, 0}, "sm_90a"}})
    EXPECT_EQ(compilation_for(chip, never)->target, target);
  EXPECT_FALSE(compilation_for({7, 2}, never).has_value());
  EXPECT_FALSE(compilation_for({0, 0}, never).has_value());
}

TEST(Architecture, OtherChipsHaveMachineCodeWhereTheCompilerKnowsThem) {
  EXPECT_EQ(target_for({8, 8}, of_cuda_13_0()), "sm_88");
  EXPECT_EQ(target_for({10, 0}, of_cuda_13_0()), "sm_100");
  EXPECT_EQ(target_for({10, 3}, of_cuda_13_0()), "sm_103");
  EXPECT_EQ(target_for({11, 0}, of_cuda_13_0()), "sm_110");
  EXPECT_EQ(target_for({12, 0}, of_cuda_13_0()), "sm_120");
  EXPECT_EQ(target_for({12, 1}, of_cuda_13_0()), "sm_121");
}

TEST(Architecture, OtherChipsHavePtxOfTheNewestPlainOneElse) {
  EXPECT_EQ(target_for({8, 8}, of_cuda_12_0()), "compute_80");
  EXPECT_EQ(target_for({10, 0}, of_cuda_12_0()), "compute_90");
  EXPECT_EQ(target_for({12, 0}, of_cuda_12_0()), "compute_90");
  EXPECT_EQ(target_for({13, 0}, of_cuda_13_0()), "compute_90");
  EXPECT_EQ(target_for({99, 9}, {}), "compute_90");
}

// Code for "a" runs on its own chip alone: what is made for another asks for no instruction of it.
TEST(Architecture, NoOtherChipRunsCodeOf90a) {
  const Capability hopper{9, 0};
  for (int number = 75; number <= kNewest; ++number) {
    const Capability chip{number / 10, number % 10};
    if (chip == hopper) continue;
    for (const std::vector<int>& known : {of_cuda_12_0(), of_cuda_13_0(), {number}}) {
      const auto found = compilation_for(chip, [&] { return known; });
      if (!found) continue;
      EXPECT_NE(found->target.back(), 'a') << found->target;
      EXPECT_FALSE(found->architecture->instructions.has(Instruction::wgmma)) << number;
      EXPECT_TRUE(chip < hopper || found->architecture->instructions.has(Instruction::tma));
    }
  }
}

// Whoever has a capability that is not smaller can do what plain code asks for.
TEST(Architecture, PlainOnesAskForNothingThatLaterChipsLack) {
  for (const Architecture* plain : architectures()) {
    for (const Architecture* later : architectures()) {
      if (plain->is_plain() && later->capability >= plain->capability) {
        EXPECT_TRUE(later->instructions.has_all(plain->instructions)) << later->target;
      }
    }
  }
}

TEST(Architecture, SaysWhatOlderChipsLack) {
  EXPECT_EQ(needs_of_all_kernels(), "mma of s8, which chips have from 7.5 on");
}

std::string options_of(std::string_view target) {
  std::string all;
  for (const std::string& option : options_for(target)) all += option.substr(2) + ' ';
  return all;
}

TEST(Architecture, CompilersOfKernelsAreToldWhatTheTargetLacks) {
  EXPECT_EQ(options_of("sm_90a"), "");
  EXPECT_EQ(options_of("compute_90"), "OCTET_WITHOUT_WGMMA ");
  EXPECT_EQ(options_of("sm_80"), "OCTET_WITHOUT_TMA OCTET_WITHOUT_PDL OCTET_WITHOUT_WGMMA ");
  EXPECT_EQ(options_of("sm_75"),
            "OCTET_WITHOUT_MMA_BF16 OCTET_WITHOUT_MMA_LONG OCTET_WITHOUT_HALF_PAIRS "
            "OCTET_WITHOUT_CP_ASYNC OCTET_WITHOUT_MBARRIER " +
                options_of("sm_80"));
  // Targets without a row are those of a plain one.
  for (const auto& [target, like] : {std::pair{"sm_88", "compute_80"},
                                     {"compute_86", "compute_80"},
                                     {"sm_90", "compute_90"},
                                     {"sm_130", "compute_90"},
                                     {"compute_75", "sm_75"}})
    EXPECT_EQ(options_of(target), options_of(like)) << target;
}

TEST(Architecture, GeForceHasHalfTheProductsOfF16) {
  const Architecture &ampere = architecture(ArchitectureId::sm_86),
                     &a100 = architecture(ArchitectureId::sm_80);
  EXPECT_TRUE(halves_f16(ampere, "NVIDIA GeForce RTX 3090"));
  EXPECT_FALSE(halves_f16(ampere, "NVIDIA A10"));
  EXPECT_FALSE(halves_f16(a100, "NVIDIA A100-SXM4-40GB"));
  EXPECT_EQ(costs_of(ampere, true).rate_mma_f16, costs_of(ampere, false).rate_mma_f16 / 2);
  EXPECT_EQ(costs_of(ampere, true).rate_mma_s8, costs_of(ampere).rate_mma_s8);
}

TEST(Boards, HaveNamesAndFactsOfTheirOwn) {
  std::set<std::string> names;
  for (const Board& board : boards()) {
    EXPECT_TRUE(names.insert(board.name).second) << board.name;
    EXPECT_FALSE(architecture(board.architecture).is_plain()) << board.name;
    EXPECT_GT(architecture(board.architecture).limits.threads, 0) << board.name;
    EXPECT_GT(architecture(board.architecture).limits.shared_bytes, 0) << board.name;
    EXPECT_TRUE(is_meant(board, board.name));
  }
  const auto count = [](std::string_view wish) {
    return std::ranges::count_if(boards(), [&](const Board& b) { return is_meant(b, wish); });
  };
  EXPECT_EQ(count("sm_90a"), 3);
  EXPECT_EQ(count("9.0"), 3);
  EXPECT_EQ(count("sm120"), 2);
  EXPECT_EQ(count("sm90b"), 0);
}

TEST(Costs, AreAsTheyWereMeasured) {
  const Costs& costs = costs_of(architecture(ArchitectureId::sm_90));
  EXPECT_EQ(costs.rate_wgmma_s8, 3400);
  EXPECT_EQ(costs.kernel_memory_share, 0.68);
  EXPECT_EQ(costs.conv_direct_latency / 3, 280.0 / 3);
  EXPECT_TRUE(is_tuned(architecture(ArchitectureId::sm_90)));
}

// Where an architecture, or one that its costs are from, has no row.
TEST(Costs, OfAnotherArchitectureAreThoseOfTheNearest) {
  const Costs& measured = costs_of(architecture(ArchitectureId::sm_90));
  std::set<std::string_view> derived;
  for (const CostRow& row : cost_rows()) {
    if (row.architecture != ArchitectureId::sm_90) derived.insert(row.name);
  }
  for (const Architecture* each : architectures()) {
    const Costs& costs = costs_of(*each);
    EXPECT_EQ(is_tuned(*each), each->id == ArchitectureId::sm_90) << each->target;
    const auto expect_same = [&](std::string_view name, f64 value, f64 nearest) {
      if (!derived.contains(name)) {
        EXPECT_EQ(value, nearest) << each->target << ", " << name;
      }
    };
#define COST(family, term, unit, needs)           \
  if (each->instructions.has(Instruction::needs)) \
    expect_same(#family "_" #term, costs.family##_##term, measured.family##_##term);
#include "backends/cuda/arch/costs.def"
#undef COST
  }
}

// A rate above what the units do is a wrong row, or one of another chip.
TEST(Costs, AreWithinWhatTheChipDoes) {
  for (const Architecture* each : architectures()) {
    const Costs& costs = costs_of(*each);
    // Of the large Blackwell mma.sync's own rate was not found.
    if (each->most_products_s8 > 0) {
      EXPECT_LE(costs.rate_mma_s8, each->most_products_s8);
    }
    if (!is_tuned(*each)) continue;
    if (each->instructions.has(Instruction::wgmma)) {
      EXPECT_LE(costs.rate_wgmma_s8, each->most_products_s8);
    }
    EXPECT_LE(costs.kernel_memory_share, 1);
  }
}

TEST(Costs, RowsSayWhereTheyComeFrom) {
  EXPECT_FALSE(cost_rows().empty());
  for (const CostRow& row : cost_rows()) {
    EXPECT_GT(row.value, 0) << row.name;
    EXPECT_EQ(row.date.size(), 10u) << row.name;
    EXPECT_TRUE(row.chip.empty() || row.chip.starts_with("NVIDIA ")) << row.name;
  }
}

}  // namespace
}  // namespace octet::cuda
