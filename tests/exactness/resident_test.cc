// SPDX-License-Identifier: Apache-2.0
// What contexts of one engine take of the machine's memory, by the kernel's account: one set of packed weights, and arenas.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "runtime/context.h"
#include "runtime/conv_chain_testing.h"
#include "runtime/inside.h"

namespace octet {
namespace {

#if defined(__has_feature)  // clang
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// The convolutions of a ResNet-50, 23 MB of weights, without its sums.
std::shared_ptr<const Model> resnet50() {
  test::ConvChain chain(3);
  chain.dense(64, 7, 2);
  constexpr s64 kRepeats[] = {3, 4, 6, 3};
  for (s64 stage = 0; stage < 4; ++stage) {
    const s64 width = 64 << stage;
    for (s64 i = 0; i < kRepeats[stage]; ++i) {
      chain.dense(width, 1).dense(width, 3, stage > 0 && i == 0 ? 2 : 1).dense(4 * width, 1);
    }
  }
  return chain.finish();
}

s64 resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") break;
  }
  s64 kib = 0;
  status >> kib;
  return kib << 10;
}

TEST(Resident, EightContextsOfAResNet50) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is more than what is measured";
  const Engine engine = Inside::engine(resnet50());
  const std::vector<Tensor> inputs = {Tensor(Dtype::u8, {1, 3, 64, 64})};
  std::vector<Context> contexts;
  const s64 before = resident_bytes();
  s64 one = 0, arenas = 0;
  for (int i = 0; i < 8; ++i) {
    contexts.push_back(engine.make_context());
    contexts.back().run(inputs);
    if (i == 0) one = resident_bytes();
    arenas += Inside::impl(contexts.back()).plans.front().plan().arena_bytes();
  }
  constexpr s64 kPlans = s64{4} << 20;     // graphs, steps and what the heap keeps
  EXPECT_GT(one - before, s64{12} << 20);  // the set, but for what the heap had free
  EXPECT_LT(resident_bytes() - one, arenas + kPlans);
}

}  // namespace
}  // namespace octet
