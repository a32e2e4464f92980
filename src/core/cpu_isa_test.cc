// SPDX-License-Identifier: Apache-2.0
#include "core/cpu_isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "octet/error.h"

namespace octet {
namespace {

// A machine may lack a level below its highest: a cap there means the next one down, never code that it cannot run.
TEST(CpuIsa, ACapGivesTheHighestLevelBelowItThatTheMachineHas) {
  EXPECT_TRUE(hardware_has(Isa::none));
  EXPECT_TRUE(hardware_has(hardware_isa()));
  Isa best = Isa::none;
  for (Isa cap : kIsaLevels) {
    if (hardware_has(cap)) best = cap;
    setenv("OCTET_CPU_ISA", std::string(isa_name(cap)).c_str(), 1);
    EXPECT_EQ(detect_isa(), best) << isa_name(cap);
  }
  EXPECT_EQ(best, hardware_isa());
  setenv("OCTET_CPU_ISA", "sse9", 1);
  EXPECT_THROW(detect_isa(), Error);
  setenv("OCTET_CPU_ISA", "", 1);
  EXPECT_EQ(detect_isa(), hardware_isa());
  unsetenv("OCTET_CPU_ISA");
}

}  // namespace
}  // namespace octet
