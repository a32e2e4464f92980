// SPDX-License-Identifier: Apache-2.0
// QFunction against the scalar reference, to the bit, between guard pages.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

TEST(QFunction, EqualsTheReference) {
  for (const char* name : {"Swish", "Gelu", "HardSwish", "Sigmoid", "Tanh", "LeakyRelu"}) {
    for (const Shape& shape : {Shape{3}, Shape{2, 7, 5, 9}, Shape{1, 64, 30, 31}}) {
      Probe probe{.op = "QFunction"};
      const Layout layout = shape.rank() == 4 ? Layout::nhwc : Layout::linear;
      probe.inputs = {activation(random_f32(shape, 5, 6.0f), layout)};
      probe.attrs.set("function", std::string(name));
      probe.attrs.set("scale", 0.03f);
      probe.attrs.set("output_zero_point", s64{9});
      const Tensor want = probe.reference()[0];
      for (Isa isa : simd_levels()) {
        for (int threads : {1, 3}) {
          probe.isa = isa;
          probe.threads = threads;
          const ProbeResult got = run_guarded(probe, lower_q_function, {0, threads == 1});
          ASSERT_EQ(got.reject, "") << name;
          ASSERT_EQ(std::memcmp(got.outputs[0].data(), want.data(), want.bytes()), 0)
              << name << " " << got.candidate.kernel;
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet
