// SPDX-License-Identifier: Apache-2.0
// Extremes, LRN, comparisons and tiles against the scalar reference, to the bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"

namespace octet {
namespace {

using Ints = std::vector<s64>;

Tensor ints(const Ints& values) {
  return Tensor::of<s64>(Shape{static_cast<s64>(values.size())}, values);
}

// Small integers with zeros of both signs, and now and then a NaN or an infinity.
Tensor many_equal(const Shape& shape, bool specials) {
  Tensor tensor = random_f32(shape, 5, 1.5f);
  const std::span<f32> values = tensor.mutable_as<f32>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::trunc(values[i]);  // -0.3 becomes -0
    if (specials && i % 37 == 5) values[i] = std::numeric_limits<f32>::quiet_NaN();
    if (specials && i % 23 == 3) values[i] = -std::numeric_limits<f32>::infinity();
  }
  return tensor;
}

void expect_same_bytes(Probe probe, Offer (*lowering)(const LowerRequest&),
                       const std::string& what) {
  const std::vector<Tensor> want = probe.reference();
  for (const int threads : {1, 3}) {
    probe.isa = first_simd_level();
    probe.threads = threads;
    const ProbeResult result = run_probe(probe, lowering);
    ASSERT_EQ(result.reject, "") << what;
    ASSERT_EQ(result.outputs[0].shape(), want[0].shape()) << what;
    ASSERT_EQ(std::memcmp(result.outputs[0].data(), want[0].data(), want[0].bytes()), 0)
        << what << " " << result.candidate.kernel;
  }
}

TEST(FloatExtreme, EqualsTheReference) {
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    for (const bool specials : {false, true}) {
      for (const Shape& shape : {Shape{2, 3, 1, 1}, Shape{3, 40, 5, 7}, Shape{1, 19, 33, 70}}) {
        for (const Ints& axes : {Ints{1}, Ints{-1}, Ints{2, 3}, Ints{0}, Ints{1, 2}, Ints{}}) {
          for (const Layout layout : {Layout::linear, Layout::nhwc}) {
            for (const s64 keepdims : {0, 1}) {
              Probe probe{.op = op, .inputs = {{many_equal(shape, specials), false, layout}}};
              if (!axes.empty()) probe.inputs.push_back({ints(axes), true});
              probe.attrs.set("keepdims", keepdims);
              expect_same_bytes(probe, lower_f_extreme,
                                fmt::format("{} of {} over {}", op, to_string(shape), axes.size()));
            }
          }
        }
      }
      for (s64 count = 1; count < 70; ++count) {
        const Probe probe{.op = op,
                          .inputs = {{many_equal(Shape{5, count}, specials)}, {ints({1}), true}}};
        expect_same_bytes(probe, lower_f_extreme, fmt::format("{} of {}", op, count));
      }
    }
  }
}

TEST(FloatExtreme, SaysWhatItDoesNotTake) {
  const Tensor image = random_f32(Shape{2, 3, 4, 5}, 1);
  EXPECT_EQ(
      run_probe({.op = "ReduceMax", .inputs = {{image}, {ints({1, 3}), true}}}, lower_f_extreme)
          .reject,
      "the reduced axes are not neighbours");
  EXPECT_EQ(
      run_probe({.op = "ReduceMax", .inputs = {{random_f32(Shape{0, 3}, 1)}, {ints({0}), true}}},
                lower_f_extreme)
          .reject,
      "there is nothing to compare");
}

TEST(FloatArgExtreme, EqualsTheReference) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const bool specials : {false, true}) {
      for (const Shape& shape : {Shape{2, 3, 1, 1}, Shape{3, 40, 5, 7}, Shape{1, 19, 33, 70}}) {
        for (const s64 axis : {0, 1, 2, 3}) {
          for (const Layout layout : {Layout::linear, Layout::nhwc}) {
            for (const s64 flag : {0, 1}) {
              Probe probe{.op = op, .inputs = {{many_equal(shape, specials), false, layout}}};
              probe.attrs.set("axis", axis);
              probe.attrs.set("select_last_index", flag);
              probe.attrs.set("keepdims", flag);
              expect_same_bytes(probe, lower_f_arg_extreme,
                                fmt::format("{} of {} over {}", op, to_string(shape), axis));
            }
          }
        }
      }
    }
  }
}

TEST(FloatLrn, EqualsTheReference) {
  for (const Shape& shape : {Shape{1, 3, 5, 7}, Shape{2, 64, 9, 11}, Shape{1, 21, 40, 40}}) {
    for (const s64 size : {1, 2, 5, 64, 1000}) {
      for (const Layout layout : {Layout::linear, Layout::nhwc}) {
        Probe probe{.op = "LRN", .inputs = {{random_f32(shape, 3, 4.0f), false, layout}}};
        probe.attrs.set("size", size);
        probe.attrs.set("alpha", 0.02f);
        probe.attrs.set("bias", 2.0f);
        const std::vector<Tensor> want = probe.reference();
        for (const Isa isa : simd_levels()) {
          for (const int threads : {1, 3}) {
            probe.isa = isa;
            probe.threads = threads;
            const ProbeResult result = run_probe(probe, lower_f_lrn);
            ASSERT_EQ(result.reject, "");
            expect_same_f32(result.outputs[0], want[0],
                            fmt::format("{} of {}", size, to_string(shape)));
          }
        }
      }
    }
  }
}

TEST(Compare, EqualsTheReference) {
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    for (const auto& [a, b] :
         {std::pair{Shape{3, 40, 70}, Shape{3, 40, 70}}, std::pair{Shape{3, 40, 70}, Shape{}},
          std::pair{Shape{40, 1}, Shape{3, 40, 70}}, std::pair{Shape{3, 1, 70}, Shape{1, 40, 1}}}) {
      for (const bool constant : {false, true}) {
        const Tensor x = many_equal(a, true), y = many_equal(b, true);
        expect_same_bytes({.op = op, .inputs = {{x}, {y, constant}}}, lower_compare, op);
        Tensor whole_x(Dtype::s64, a), whole_y(Dtype::s64, b);
        for (s64 i = 0; i < a.elements(); ++i)
          whole_x.mutable_as<s64>()[static_cast<size_t>(i)] = i * 7 % 5;
        for (s64 i = 0; i < b.elements(); ++i)
          whole_y.mutable_as<s64>()[static_cast<size_t>(i)] = i * 3 % 5;
        expect_same_bytes({.op = op, .inputs = {{whole_x}, {whole_y, constant}}}, lower_compare,
                          op);
      }
    }
  }
}

TEST(Compare, LogicOfBools) {
  const auto truths = [](const Shape& shape, s64 period) {
    Tensor tensor(Dtype::boolean, shape);
    const std::span<bool> values = tensor.mutable_as<bool>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<s64>(i) % period == 0;
    return tensor;
  };
  const Tensor x = truths(Shape{5, 1, 70}, 2), y = truths(Shape{33, 70}, 3);
  for (const char* op : {"And", "Or", "Xor", "Equal"})
    expect_same_bytes({.op = op, .inputs = {{x}, {y}}}, lower_compare, op);
  expect_same_bytes({.op = "Not", .inputs = {{x}}}, lower_compare, "Not");
}

TEST(Tile, EqualsTheReference) {
  for (const Ints& repeats :
       {Ints{1, 1, 1, 1}, Ints{2, 1, 3, 1}, Ints{1, 4, 1, 2}, Ints{3, 2, 2, 5}}) {
    for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 1, 1, 1}, Shape{1, 33, 1, 9}}) {
      expect_same_bytes({.op = "Tile", .inputs = {{random_f32(shape, 3)}, {ints(repeats), true}}},
                        lower_linear_tile, to_string(shape));
    }
  }
}

}  // namespace
}  // namespace octet
