// SPDX-License-Identifier: Apache-2.0
// Backend::compare: whether two runs of bytes in the device's memory differ.
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "compile_only.h"
#include "gpu_probe.h"
#include "plan/backend.h"
#include "plan/bind.h"
#include "plan/device.h"

namespace octet {
namespace {

class Compared {
 public:
  explicit Compared(s64 bytes)
      : bytes_(static_cast<size_t>(bytes), std::byte{7}),
        candidate_(device_.backend().compare(bytes, {.device = &device_})) {
    for (auto& memory : both_) memory = device_.allocate(bytes, "a test's bytes");
  }

  // `at`: the byte that differs; -1: none.
  bool differ(s64 at) {
    queue_->copy(both_[0].get(), bytes_.data(), std::ssize(bytes_));
    std::vector<std::byte> other = bytes_;
    if (at >= 0) other[static_cast<size_t>(at)] = std::byte{8};
    queue_->copy(both_[1].get(), other.data(), std::ssize(other));
    const auto flag = device_.allocate(sizeof(s32), "a test's flag");
    const std::byte* from[] = {both_[0].get(), both_[1].get()};
    std::byte* to = flag.get();
    bind_alone(candidate_, kDense)({from, &to, nullptr, *queue_});
    s32 differ = 0;
    queue_->copy(reinterpret_cast<std::byte*>(&differ), to, sizeof differ);
    queue_->synchronize();
    return differ != 0;
  }

  void compile() { test::compile_kernels(device_, candidate_, kDense); }

 private:
  static inline const BindArgs kDense{{{}, {}}, {{}}};

  const Device& device_ = find_device("cuda");
  std::unique_ptr<Queue> queue_ = device_.make_queue(nullptr);
  std::vector<std::byte> bytes_;
  std::shared_ptr<std::byte> both_[2];
  Candidate candidate_;
};

TEST(GpuCompare, FindsEveryByte) {
  NEEDS_GPU();
  for (s64 bytes : {1, 15, 16, 17, 4099}) {
    Compared compared(bytes);
    if (test::only_compiles()) {
      compared.compile();
      continue;
    }
    EXPECT_FALSE(compared.differ(-1)) << bytes;
    for (s64 at : {s64{0}, bytes / 2, bytes - 1}) EXPECT_TRUE(compared.differ(at)) << bytes;
  }
}

}  // namespace
}  // namespace octet
