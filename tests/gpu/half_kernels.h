// SPDX-License-Identifier: Apache-2.0
// The kernels of a product of floats on a Hopper, each held to the error that its operands allow.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "half_operands.h"
#include "one_node.h"

namespace octet::test {

// Fewer than all kernels: each takes seconds to compile.
inline void expect_all_near(const HalfCase& c, s64 most, const char* kernels = "_wgmma_") {
  const Operands operands(c);
  const Graph graph = operands.graph();
  const s64 count = for_each_kernel(graph, operands.inputs(), kernels, most,
                                    [&](const std::string& kernel, const std::vector<Tensor>& y) {
                                      operands.expect_near(y[0], kernel);
                                    });
  EXPECT_GT(count, 0) << dims(c.x_shape()) << " to " << dims(c.y_shape());
}

#define NEEDS_HOPPER()                        \
  std::string why;                            \
  ASSERT_NE(gpu_device(why), nullptr) << why; \
  if (hopper(why) == nullptr) GTEST_SKIP() << why

}  // namespace octet::test
