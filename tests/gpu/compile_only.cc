// SPDX-License-Identifier: Apache-2.0
#include "compile_only.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <unordered_set>

#include "backends/cuda/device.h"
#include "backends/cuda/lower/step.h"
#include "octet/error.h"
#include "plan/bind.h"

namespace octet::test {
namespace {

// What the key of a preparation says: the type it makes, the device, then KernelSource::key(). Values may hold spaces.
cuda::KernelSource source_of(std::string_view key) {
  std::istringstream words{std::string(key)};
  cuda::KernelSource source;
  words >> source.family;
  for (std::string word; words >> word;) {
    const bool begins = word.find('=') != std::string::npos;
    if (begins) {
      source.constants.push_back(word);
    } else {
      source.constants.back() += ' ' + word;
    }
  }
  return source;
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
    const cuda::KernelSource source =
        source_of(std::string_view(preparation.key).substr(prefix.size()));
    try {
      const std::vector<char> code = cuda::compile_kernel(source, gpu.arch());
      const std::string_view magic(code.data(), std::min<size_t>(code.size(), 4));
      EXPECT_EQ(magic,
                "\x7f"
                "ELF")
          << source.key();
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

}  // namespace octet::test
