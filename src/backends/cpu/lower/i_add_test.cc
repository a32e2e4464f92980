// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

template <class T>
Tensor numbers(const Shape& shape, T step) {
  Tensor tensor(DtypeOf<T>::value, shape);
  using Wrap = std::make_unsigned_t<T>;
  Wrap value = static_cast<Wrap>(std::numeric_limits<T>::max());
  for (T& x : tensor.mutable_as<T>()) x = static_cast<T>(value += static_cast<Wrap>(step));
  return tensor;
}

template <class T>
void expect_sums(const Shape& shape) {
  for (bool constant : {false, true}) {
    Probe probe{.op = "Add"};
    probe.inputs = {activation(numbers<T>(shape, 12345)), activation(numbers<T>(shape, 1))};
    probe.inputs[1].constant = constant;
    expect_exact(probe, lower_i_add, to_string(shape));
  }
}

TEST(IntegerAdd, WrapsAsTheDefinition) {
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 5, 40}, Shape{2, 4, 50, 60}}) {
    expect_sums<s32>(shape);
    expect_sums<s64>(shape);
  }
}

TEST(IntegerAdd, RejectsWithReasons) {
  Probe probe{.op = "Add"};
  probe.inputs = {activation(numbers<s32>({3, 4}, 1)), activation(numbers<s32>({4}, 1))};
  EXPECT_EQ(run_guarded(probe, lower_i_add, {}).reject, "an operand is broadcast");
  probe.inputs = {activation(random_f32({4}, 1)), activation(random_f32({4}, 2))};
  EXPECT_EQ(run_guarded(probe, lower_i_add, {}).reject, "it adds neither s32 nor s64");
}

}  // namespace
}  // namespace octet
