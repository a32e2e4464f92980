// SPDX-License-Identifier: Apache-2.0
// Tests that run on a GPU, an emulated one too: where kernels are only compiled they are skipped.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "compile_only.h"
#include "one_node.h"

namespace octet::test {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (only_compiles()) GTEST_SKIP() << "nothing runs here";
    device_ = gpu_device(why);
    ASSERT_NE(device_, nullptr) << why;
  }

  const Device* device_ = nullptr;
};

}  // namespace octet::test
