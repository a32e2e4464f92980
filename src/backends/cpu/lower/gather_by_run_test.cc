// SPDX-License-Identifier: Apache-2.0
// Gather and GatherElements by indices of a run against the scalar reference, and its error for those outside of their axis.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

// Within [-dim, dim).
Tensor indices_of(const Shape& shape, s64 dim, Dtype dtype) {
  Tensor tensor(dtype, shape);
  u32 state = 7;
  for (s64 i = 0; i < shape.elements(); ++i) {
    state = state * 1664525 + 1013904223;
    const s64 index = static_cast<s64>(state >> 8) % (2 * dim) - dim;
    if (dtype == Dtype::s64) tensor.mutable_as<s64>()[static_cast<size_t>(i)] = index;
    if (dtype == Dtype::s32)
      tensor.mutable_as<s32>()[static_cast<size_t>(i)] = static_cast<s32>(index);
  }
  return tensor;
}

Tensor data_of(const Shape& shape, Dtype dtype) {
  if (dtype == Dtype::f32) return random_f32(shape, 1);
  if (dtype == Dtype::u8) return random_u8(shape, 1);
  Tensor wide(Dtype::s64, shape);
  s64 next = 0;
  for (s64& value : wide.mutable_as<s64>()) value = next += (s64{1} << 33) + 1;
  return wide;
}

void expect_in_all_types(const char* op, LowerFunction lowering, const Shape& data,
                         const Shape& indices, s64 axis) {
  for (Dtype dtype : {Dtype::f32, Dtype::u8, Dtype::s64}) {
    for (Dtype index : {Dtype::s64, Dtype::s32}) {
      for (int constant : {0, 1, 2}) {
        Probe probe{.op = op};
        probe.inputs = {activation(data_of(data, dtype)),
                        activation(indices_of(indices, data[static_cast<int>(axis)], index))};
        if (constant > 0) probe.inputs[static_cast<size_t>(constant - 1)].constant = true;
        probe.attrs.set("axis", axis);
        expect_exact(probe, lowering, fmt::format("{} {} axis {}", op, to_string(data), axis));
      }
    }
  }
}

TEST(GatherRows, AnyAxisAndType) {
  for (s64 axis : {0, 1, 2, 3})
    expect_in_all_types("Gather", lower_gather_rows, {3, 4, 5, 6}, {7, 2}, axis);
  expect_in_all_types("Gather", lower_gather_rows, {50, 300}, {4, 40}, 0);
  expect_in_all_types("Gather", lower_gather_rows, {5}, {}, 0);
}

TEST(GatherElements, AnyAxisAndType) {
  for (s64 axis : {0, 1, 2, 3}) {
    Shape same{3, 4, 5, 6}, fewer{2, 3, 4, 5};
    same[static_cast<int>(axis)] = 9;
    fewer[static_cast<int>(axis)] = 7;
    expect_in_all_types("GatherElements", lower_gather_elements, {3, 4, 5, 6}, same, axis);
    expect_in_all_types("GatherElements", lower_gather_elements, {3, 4, 5, 6}, fewer, axis);
  }
  expect_in_all_types("GatherElements", lower_gather_elements, {3, 70, 64}, {3, 70, 70}, 2);
  expect_in_all_types("GatherElements", lower_gather_elements, {1, 90, 256}, {1, 60, 256}, 1);
}

std::string error_of(const char* op, LowerFunction lowering, s64 index) {
  Probe probe{.op = op};
  Tensor indices = indices_of({6, 5}, 4, Dtype::s64);
  indices.mutable_as<s64>()[17] = index;
  probe.inputs = {activation(random_f32({4, 5}, 1)), activation(indices)};
  probe.isa = first_simd_level();
  try {
    run_probe(probe, lowering);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    return error.message();
  }
  return "";
}

TEST(GatherRows, AnIndexOutsideIsTheDefinitionsError) {
  OCTET_NEEDS_VECTORS();
  for (s64 index : {s64{4}, s64{-5}, s64{1} << 40, std::numeric_limits<s64>::min()}) {
    const std::string message = fmt::format("index {} is outside [-4, 4) of axis 0", index);
    EXPECT_THAT(error_of("Gather", lower_gather_rows, index), HasSubstr(message));
    EXPECT_THAT(error_of("GatherElements", lower_gather_elements, index), HasSubstr(message));
  }
  EXPECT_EQ(error_of("Gather", lower_gather_rows, -4), "");
}

}  // namespace
}  // namespace octet
