// SPDX-License-Identifier: Apache-2.0
#include "arch/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "arch/probe.h"
#include "octet/error.h"

namespace octet {
namespace {

// A machine may lack a level below its highest: a cap there leaves the levels below, never code that it cannot run.
TEST(Isa, ACapGivesTheHighestLevelBelowItThatTheMachineHas) {
  EXPECT_TRUE(hardware_has(Isa::none));
  EXPECT_TRUE(hardware_has(hardware_isa()));
  for (const Isa cap : kIsaLevels) {
    Isa best = Isa::none;
    for (const Isa level : kIsaLevels) {
      if (hardware_has(level) && capped(level, cap) == level) best = level;
    }
    setenv("OCTET_CPU_ISA", std::string(isa_name(cap)).c_str(), 1);
    EXPECT_EQ(isa_level(detect_isa()), best) << isa_name(cap);
    if (cap == isa_level(hardware_isa())) {
      EXPECT_EQ(best, cap);
    }
  }
  setenv("OCTET_CPU_ISA", "sse9", 1);
  EXPECT_THROW(detect_isa(), Error);
  setenv("OCTET_CPU_ISA", "", 1);
  EXPECT_EQ(detect_isa(), hardware_isa());
  unsetenv("OCTET_CPU_ISA");
}

// Processors are sets of features and no line: a server of AVX-512 without avx_vnni, a client with nothing of AVX-512, and one with both.
TEST(Isa, LevelsAreSetsOfFeatures) {
  const Isa server = Isa::vnni, client = Isa::avx_vnni, both = server.with(client);
  EXPECT_FALSE(server.has(Isa::avx_vnni));
  EXPECT_FALSE(client.has(Isa::vnni));
  EXPECT_TRUE(both.has(Isa::avx_vnni) && both.has(Isa::vnni));
  EXPECT_EQ(isa_name(server), "vnni");
  EXPECT_EQ(isa_name(client), "avx_vnni");
  EXPECT_EQ(isa_name(both), "vnni");
  EXPECT_EQ(capped(server, Isa::avx_vnni), Isa::avx2);
  EXPECT_EQ(capped(client, Isa::vnni), client);
  EXPECT_EQ(capped(both, Isa::vnni), both);
  EXPECT_EQ(capped(both, Isa::avx_vnni), client);
  // Products of bf16 are a feature besides the levels.
  const Isa brain = both.with({Feature::avx512_bf16});
  EXPECT_EQ(isa_level(brain), Isa::vnni);
  EXPECT_TRUE(capped(brain, Isa::vnni).has(Feature::avx512_bf16));
  EXPECT_FALSE(capped(brain, Isa::avx2).has(Feature::avx512_bf16));
}

// What one architecture calls a level leaves nothing of another's.
TEST(Isa, LevelsOfTwoArchitecturesShareNothing) {
  for (const Isa x86 : {Isa::avx2, Isa::avx_vnni, Isa::vnni, Isa::amx}) {
    for (const Isa arm : {Isa::neon, Isa::dotprod, Isa::i8mm}) {
      EXPECT_EQ(capped(x86, arm), Isa::none);
      EXPECT_EQ(capped(arm, x86), Isa::none);
    }
  }
}

TEST(Isa, ExtrasOfAarch64StandBesideItsLevels) {
  const Isa brain = Isa::i8mm.with({Feature::arm_bf16, Feature::sve});
  EXPECT_EQ(isa_name(brain), "i8mm");
  EXPECT_EQ(isa_extras(brain), "bf16, sve");
  EXPECT_EQ(isa_extras(capped(brain, Isa::neon)), "bf16, sve");
  EXPECT_EQ(isa_name(capped(brain, Isa::neon)), "neon");
  EXPECT_EQ(isa_extras(Isa::amx), "");
}

#if defined(__aarch64__) && !defined(OCTET_GENERIC)
// Every processor of the architecture has vectors; the other levels are what it says of itself (tools/aarch64.sh names processors whose
// level is known).
TEST(Isa, Aarch64HasVectors) {
  EXPECT_TRUE(hardware_has(Isa::neon));
  if (const char* expected = std::getenv("OCTET_TEST_LEVEL"); expected != nullptr) {
    EXPECT_EQ(isa_name(hardware_isa()), expected);
  }
}
#endif

TEST(Isa, EachLevelHasItsOwnName) {
  std::vector<std::string_view> names;
  for (const Isa level : kIsaLevels) {
    EXPECT_EQ(isa_level(level), level) << isa_name(level);
    EXPECT_EQ(capped(level, level), level) << isa_name(level);
    EXPECT_EQ(std::ranges::count(names, isa_name(level)), 0) << isa_name(level);
    names.push_back(isa_name(level));
  }
}

TEST(Isa, TheProcessorHasAnIdentity) {
  EXPECT_FALSE(probe_identity().empty());
  EXPECT_EQ(probe_identity(), probe_identity());
}

}  // namespace
}  // namespace octet
