// SPDX-License-Identifier: Apache-2.0
// Where OCTET_TEST_COMPILE is set, tests of kernels compile them for the device's architecture and run nothing: with NVIDIA's compiler and an
// emulated device that is as well as can be had without a GPU.
#pragma once

#include <span>
#include <string>

#include "cubin.h"
#include "plan/plan.h"

namespace octet::test {

bool only_compiles();
// Each kernel once for the process; a failure is one of the test that asked. Expects machine code.
void compile_kernels(const Device& device, const Candidate& candidate, const BindArgs& bind);
// Of all steps that run on the plan's device.
void compile_kernels(const Plan& plan);

struct CompiledKernel {
  std::string family;
  CubinFacts facts;
};
// All that this process has compiled.
std::span<const CompiledKernel> compiled_kernels();

}  // namespace octet::test
