// SPDX-License-Identifier: Apache-2.0
// Requests are answered where memory ends, too. Operators new of this program are the library's as well.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>

#include "tests/integrations/triton_models.h"

namespace {

// Of the library's own allocations in this thread the one that fails; -1: none.
thread_local int64_t failing = -1;
thread_local bool failed = false;

bool is_ours(void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::string_view(info.dli_fname).find("libtriton_octet") != std::string_view::npos;
}

}  // namespace

void* operator new(size_t bytes) {
  if (failing >= 0 && is_ours(__builtin_return_address(0)) && failing-- == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace octet::triton_test {
namespace {

TEST(TritonHostile, AllocationsThatFailLeaveNoRequestUnanswered) {
  ServedGraph on("memory", kConv);
  const Tensor sent = codes({1, 4, 5, 5}, 1);
  const Tensor want = answers(on.engine, {sent})[0];
  constexpr int64_t kMost = 64;  // those of reading requests are the first
  int64_t fails = 0;
  for (int64_t at = 0; at < kMost; ++at) {
    SCOPED_TRACE(at);
    TRITONBACKEND_Request first = request({{"x", sent}}, {"z"});
    TRITONBACKEND_Request second = request({{"x", sent}}, {"z"});
    failed = false;
    failing = at;
    on.served.execute({&first, &second});
    failing = -1;
    fails += failed ? 1 : 0;
    for (const TRITONBACKEND_Request* one : {&first, &second}) {
      expect_finished(*one);
      if (one->error == -1) expect_answer(*one, "z", want);
    }
    if (!failed) break;
  }
  EXPECT_GT(fails, 0);
  EXPECT_EQ(counts().responses, 0);
}

}  // namespace
}  // namespace octet::triton_test
