// SPDX-License-Identifier: Apache-2.0
#include "compile_only.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <unordered_set>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/lower/step.h"
#include "octet/error.h"
#include "plan/bind.h"

namespace octet::test {
namespace {

// What KernelSource::key() says.
cuda::KernelSource source_of(const std::string& key) {
  std::istringstream lines(key);
  std::string line;
  std::getline(lines, line);
  std::istringstream words(line);
  cuda::KernelSource source;
  words >> source.family;
  for (std::string word; words >> word;) source.constants.push_back(word);
  while (std::getline(lines, line)) {
    const size_t equals = line.find(" = ");
    source.functions.push_back({line.substr(0, equals), line.substr(equals + 3)});
  }
  return source;
}

// Few values that registers should hold go through memory, and products are those of the unit that the source was written for.
void expect_good_code(const cuda::KernelSource& source, const cuda::Chip& chip,
                      const CubinFacts& facts) {
  const std::string text = source.text();
  const auto says = [&](const char* words) { return text.find(words) != text.npos; };
  EXPECT_GT(facts.registers, 0) << source.key();
  // Where registers are few for the work of a block, some values wait outside: fewer than one instruction in eight is about them.
  EXPECT_LE(8 * facts.spills, facts.instructions) << source.key();
  const bool by_groups = says("wgmma.mma_async") && chip.has(cuda::Instruction::wgmma);
  EXPECT_TRUE(facts.group_products > 0 || !by_groups) << source.key();
  EXPECT_TRUE(facts.warp_products > 0 || !source.family.ends_with("_mma")) << source.key();
  const bool by_dots = source.family == "depthwise" || source.family == "depthwise_tile";
  EXPECT_TRUE(facts.dot_products > 0 || !by_dots) << source.key();
}

std::vector<CompiledKernel>& compiled() {
  static auto& all = *new std::vector<CompiledKernel>;
  return all;
}

}  // namespace

bool only_compiles() { return std::getenv("OCTET_TEST_COMPILE") != nullptr; }

void compile_kernels(const Device& device, const Candidate& candidate, const BindArgs& bind) {
  static auto& done = *new std::unordered_set<std::string>;
  if (candidate.prepare == nullptr) return;
  const auto& gpu = static_cast<const cuda::CudaDevice&>(device);
  const std::string prefix =
      std::string(typeid(cuda::HeldKernel).name()) + ' ' + std::string(gpu.name()) + ' ';
  for (const Preparation& preparation : candidate.prepare(bind)) {
    if (!preparation.key.starts_with(prefix) || !done.insert(preparation.key).second) continue;
    const cuda::KernelSource source = source_of(preparation.key.substr(prefix.size()));
    try {
      const std::vector<char> code = cuda::machine_code(source, gpu.arch());
      compiled().push_back({source.family, read_cubin(code)});
      expect_good_code(source, gpu.chip(), compiled().back().facts);
    } catch (const Error& error) {
      ADD_FAILURE() << source.key() << "\n" << error.what();
    }
  }
}

void compile_kernels(const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    if (step.device == kHost) continue;
    compile_kernels(*plan.devices[step.device], step.candidate, placements(plan, step));
  }
}

std::span<const CompiledKernel> compiled_kernels() { return compiled(); }

}  // namespace octet::test
