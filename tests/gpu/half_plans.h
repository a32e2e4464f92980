// SPDX-License-Identifier: Apache-2.0
// Graphs of 16 bits on a GPU beside the reference: their kernels, and how near their results are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "half_text.h"
#include "on_gpu.h"
#include "one_node.h"
#include "ops/registry.h"
#include "plan/chain_testing.h"

namespace octet::test {

inline std::vector<f32> reals_of(const Tensor& tensor) {
  std::vector<f32> reals;
  if (tensor.dtype() == Dtype::f32) reals.assign(tensor.as<f32>().begin(), tensor.as<f32>().end());
  if (tensor.dtype() == Dtype::f16)
    for (const f16 real : tensor.as<f16>()) reals.push_back(static_cast<f32>(real));
  if (tensor.dtype() == Dtype::bf16)
    for (const bf16 real : tensor.as<bf16>()) reals.push_back(static_cast<f32>(real));
  return reals;
}

// Plans of graphs that have 16 bits, on the GPU of the test.
class HalfPlans : public OnGpu {
 protected:
  Target target() const { return make_target(device_->name(), 1, nullptr); }

  std::vector<std::string> kernels(const Graph& graph) const {
    return kernel_names(plan_of(graph, target()));
  }

  void expect_bits(const Graph& graph, std::span<const Tensor> inputs,
                   const std::string& what) const {
    const Tensor want = interpret(graph, inputs)[0], got = run_on(graph, inputs, target())[0];
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << what;
  }
  // Nearer than one part in `parts` of the largest of the same channel.
  void expect_near(const Graph& graph, std::span<const Tensor> inputs, f32 parts) const {
    const Tensor wanted = interpret(graph, inputs)[0];
    const std::vector<f32> want = reals_of(wanted),
                           got = reals_of(run_on(graph, inputs, target())[0]);
    const Shape& shape = wanted.shape();
    const size_t channels = static_cast<size_t>(shape[1]),
                 inner = static_cast<size_t>(shape[2] * shape[3]);
    std::vector<f32> largest(channels);
    for (size_t i = 0; i < want.size(); ++i) {
      f32& own = largest[i / inner % channels];
      own = std::max(own, std::abs(want[i]));
    }
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], largest[i / inner % channels] / parts) << i;
  }
};

// Codes, or reals of all bits between 1/4 and 8.
inline Tensor random_numbers(const TensorType& type, std::mt19937& random) {
  Tensor tensor(type.dtype, type.shape);
  std::byte* const to = tensor.mutable_data();
  const size_t width = dtype_bytes(type.dtype);
  for (size_t i = 0; i < tensor.bytes(); i += width) {
    const u32 size = static_cast<u32>(random()) % 5, bits = static_cast<u32>(random());
    const u32 real = type.dtype == Dtype::f16    ? (bits & 0x83FF) | (13 + size) << 10
                     : type.dtype == Dtype::bf16 ? (bits & 0x807F) | (125 + size) << 7
                     : type.dtype == Dtype::f32  ? (bits & 0x807FFFFF) | (125 + size) << 23
                                                 : bits >> 8;
    std::memcpy(to + i, &real, width);
  }
  return tensor;
}

// All of a graph's inputs, in their order.
inline std::vector<Tensor> random_inputs(const Graph& graph, u32 seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back(random_numbers(graph.value(id).type, random));
  return inputs;
}

}  // namespace octet::test
