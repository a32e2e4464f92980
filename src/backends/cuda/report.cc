// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/report.h"

#include <bit>

#include "backends/cuda/device.h"
#include "backends/cuda/driver.h"

namespace octet::cuda {
namespace {

constexpr size_t kWords = 2;

// Page-locked, which is what kernels reach.
std::shared_ptr<u64> make_words(const CudaDevice& device) {
  device.make_current();
  void* memory = nullptr;
  device.check_call(driver().cuMemHostAlloc(&memory, kWords * sizeof(u64), 0),
                    "to give memory for what kernels report");
  return {static_cast<u64*>(memory), [&device](u64* at) {
            const CurrentDevice unchanged(device);
            if (device.try_make_current()) driver().cuMemFreeHost(at);
          }};
}

}  // namespace

Report::Report(const CudaDevice& device, Raise raise)
    : words_(make_words(device)), raise_(std::move(raise)) {
  clear();
}

void Report::clear() { words_.get()[0] = words_.get()[1] = kNothing; }

void Report::deliver() {
  constexpr int kHalf = 32;
  const u64 upper = words_.get()[0], lower = words_.get()[1];
  clear();
  const u64 value = upper << kHalf | (lower & ~u32{0});
  raise_(static_cast<u32>(upper >> kHalf), std::bit_cast<s64>(value));
}

}  // namespace octet::cuda
