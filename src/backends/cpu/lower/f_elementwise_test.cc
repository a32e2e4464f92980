// SPDX-License-Identifier: Apache-2.0
// Every row of the unary and binary tables against the scalar reference, to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cpu/kernels/float/binary.h"
#include "backends/cpu/kernels/float/unary.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"

namespace octet {
namespace {

// Ordinary values, then every kind of special one, then a sweep over all exponents.
Tensor awkward_values(s64 count, u64 seed) {
  Tensor tensor = random_f32(Shape{count}, seed, 4.0f);
  auto x = tensor.mutable_as<f32>();
  const f32 inf = std::numeric_limits<f32>::infinity();
  const f32 special[] = {0.0f, -0.0f,   inf,       -inf,  std::numeric_limits<f32>::quiet_NaN(),
                         1.0f, -1.0f,   0x1p-149f, 2.5f,  -2.5f,
                         3.5f, -104.0f, 89.0f,     1e30f, -1e30f};
  for (size_t i = 0; i < std::size(special) && i < x.size(); ++i) x[i] = special[i];
  for (size_t i = std::size(special); i + 300 < x.size() && i < 600; ++i) {
    x[i] = std::ldexp(x[i], static_cast<int>(i) - 300);
  }
  return tensor;
}

Probe unary_probe(const UnaryKernel& kernel, const Tensor& x) {
  Probe probe{.op = kernel.op, .inputs = {{x}}};
  const std::string_view name = kernel.name;
  if (name == "gelu_tanh") probe.attrs.set("approximate", std::string("tanh"));
  if (name == "leaky_relu") probe.attrs.set("alpha", 0.1f);
  if (name == "celu" || name == "elu") probe.attrs.set("alpha", 1.5f);
  if (name == "round_f16") probe.attrs.set("to", std::string("f16"));
  if (name == "round_bf16") probe.attrs.set("to", std::string("bf16"));
  if (name == "swish") probe.attrs.set("alpha", 1.25f);
  if (name == "square") probe.inputs.push_back({Tensor::scalar(2.0f), true});
  if (name == "clip") {
    probe.inputs.push_back({Tensor::scalar(-1.5f), true});
    probe.inputs.push_back({Tensor::scalar(6.0f), true});
  }
  return probe;
}

// A dimension of 0 allows any other size; their product is never formed.
TEST(Rows, EmptyValuesMayHaveHugeDimensions) {
  const Shape shape{6597069766668, 2305843009213693954, 0};
  const RowOperand operands[] = {{shape, {}}, {shape, {}}};
  ASSERT_TRUE(Rows::possible(operands));
  const Rows rows(operands);
  ThreadPool pool(1);
  rows.for_each(pool, [](const Rows::Offsets&, s64) { FAIL() << "there are no elements"; });
}

TEST(FloatUnary, EveryRowEqualsTheReference) {
  for (const UnaryKernel& kernel : kUnaryKernels) {
    for (s64 count : {1, 7, 8, 9, 16, 31, 1000, 40000}) {
      Probe probe = unary_probe(kernel, awkward_values(count, static_cast<u64>(count)));
      const Tensor want = probe.reference()[0];
      for (Isa isa : simd_levels()) {
        probe.isa = isa;
        probe.threads = count > 1000 ? 3 : 1;
        const ProbeResult result = run_probe(probe, lower_f_unary);
        ASSERT_EQ(result.reject, "");
        EXPECT_EQ(result.candidate.kernel, kernel_name("f32", kernel.name, isa));
        expect_same_f32(result.outputs[0], want, result.candidate.kernel);
      }
    }
  }
}

// Overflow, denormal results and every split point lie within.
TEST(FloatUnary, EqualsTheReferenceOverTheWholeRange) {
  Tensor tensor(Dtype::f32, Shape{420000});
  auto x = tensor.mutable_as<f32>();
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<f32>(static_cast<s64>(i) - 210000) / 2000.0f;
  for (const UnaryKernel& kernel : kUnaryKernels) {
    Probe probe = unary_probe(kernel, tensor);
    const Tensor want = probe.reference()[0];
    for (Isa isa : simd_levels()) {
      probe.isa = isa;
      expect_same_f32(run_probe(probe, lower_f_unary).outputs[0], want, kernel.name);
    }
  }
}

TEST(FloatUnary, KeepsStridedNhwc) {
  for (Isa isa : simd_levels()) {
    for (s64 channels : {1, 2, 5, 19}) {
      Probe probe{.op = "Relu",
                  .inputs = {{random_f32(Shape{2, channels, 3, 5}, 7), false, Layout::nhwc}},
                  .isa = isa,
                  .spread = 3};
      const ProbeResult result = run_probe(probe, lower_f_unary);
      EXPECT_EQ(result.candidate.outputs[0], Layout::nhwc);
      expect_same_f32(result.outputs[0], probe.reference()[0], result.candidate.kernel);
    }
  }
}

TEST(FloatUnary, SaysWhyNot) {
  Probe probe{.op = "Relu", .inputs = {{random_f32(Shape{4}, 1)}}};
  EXPECT_EQ(run_probe(probe, lower_f_unary).reject, "the instruction set has no vectors");
  probe.isa = first_simd_level();
  probe.inputs[0].tensor = Tensor(Dtype::s32, Shape{4});
  EXPECT_EQ(run_probe(probe, lower_f_unary).reject, "an operand is not f32");
  probe = {.op = "Clip",
           .inputs = {{random_f32(Shape{4}, 1)}, {Tensor::scalar(0.0f)}},
           .isa = first_simd_level()};
  EXPECT_EQ(run_probe(probe, lower_f_unary).reject, "the bounds are not constants");
}

Attrs attrs_of(std::string_view row) {
  Attrs attrs;
  if (row == "add_clamp") {
    attrs.set("activation", std::string("clip"));
    attrs.set("activation_min", -0.5f);
    attrs.set("activation_max", 2.0f);
  } else if (row == "add_leaky_relu") {
    attrs.set("activation", std::string("leaky_relu"));
    attrs.set("activation_alpha", 0.1f);
  }
  return attrs;
}

struct Shapes {
  Shape x, y;
};

TEST(FloatBinary, EveryRowEqualsTheReference) {
  const Shapes shapes[] = {{{37}, {37}},
                           {{5, 700}, {5, 700}},
                           {{6, 13}, {13}},
                           {{6, 13}, {6, 1}},
                           {{2, 3, 40}, {1}},
                           {{4, 1, 9}, {1, 3, 9}},
                           {{2, 6, 5, 7}, {6, 1, 1}},
                           {{2, 6, 5, 7}, {2, 6, 1, 1}},
                           {{130, 300}, {130, 300}}};
  for (const BinaryKernel& kernel : kBinaryKernels) {
    for (const Shapes& s : shapes) {
      // PRelu broadcasts only its slope.
      if (std::string_view(kernel.op) == "PRelu" && s.x[0] == 4) continue;
      Probe probe{.op = kernel.op,
                  .inputs = {{random_f32(s.x, 3)}, {random_f32(s.y, 4)}},
                  .attrs = attrs_of(kernel.name),
                  .threads = 2};
      if (s.x.rank() == 1) probe.inputs = {{awkward_values(37, 5)}, {awkward_values(37, 5)}};
      const Tensor want = probe.reference()[0];
      for (Isa isa : simd_levels()) {
        probe.isa = isa;
        const ProbeResult result = run_probe(probe, lower_f_binary);
        ASSERT_EQ(result.reject, "");
        expect_same_f32(result.outputs[0], want, kernel.name + to_string(s.x) + to_string(s.y));
      }
    }
  }
}

TEST(FloatBinary, FollowsTheLayoutOfTheFullOperand) {
  OCTET_NEEDS_VECTORS();
  const Shape full{2, 6, 5, 7};
  for (const Shape& other :
       {full, Shape{1}, Shape{6, 1, 1}, Shape{2, 6, 1, 1}, Shape{1, 1, 5, 7}, Shape{5, 7}}) {
    for (bool constant : {false, true}) {
      for (bool swapped : {false, true}) {
        ProbeInput a{random_f32(full, 1), false, Layout::nhwc}, b{random_f32(other, 2), constant};
        if (!constant && other == full) b.layout = Layout::nhwc;
        Probe probe{.op = "Sub", .inputs = {a, b}, .isa = simd_levels().back(), .spread = 2};
        if (swapped) std::swap(probe.inputs[0], probe.inputs[1]);
        const ProbeResult result = run_probe(probe, lower_f_binary);
        ASSERT_EQ(result.reject, "");
        EXPECT_EQ(result.candidate.outputs[0], Layout::nhwc);
        expect_same_f32(result.outputs[0], probe.reference()[0], to_string(other));
      }
    }
  }
}

TEST(FloatBinary, NaNsAreKeptByMaxAndMin) {
  OCTET_NEEDS_VECTORS();
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  const f32 x[] = {nan, 1.0f, nan, 2.0f}, y[] = {1.0f, nan, nan, 3.0f};
  for (const char* op : {"Max", "Min"}) {
    Probe probe{.op = op,
                .inputs = {{Tensor::of<f32>(Shape{4}, x)}, {Tensor::of<f32>(Shape{4}, y)}},
                .isa = first_simd_level()};
    expect_same_f32(run_probe(probe, lower_f_binary).outputs[0], probe.reference()[0], op);
  }
}

Tensor random_bool(const Shape& shape) {
  Tensor tensor(Dtype::boolean, shape);
  const Tensor values = random_f32(shape, 9);
  for (size_t i = 0; i < tensor.mutable_as<bool>().size(); ++i)
    tensor.mutable_as<bool>()[i] = values.as<f32>()[i] > 0.3f;
  return tensor;
}

TEST(Where, EqualsTheReference) {
  struct Case {
    Shape condition, x, y;
  };
  const Case cases[] = {{{37}, {37}, {37}},
                        {{}, {5, 7}, {7}},
                        {{2, 1, 1, 40}, {2, 3, 40, 40}, {}},
                        {{40, 40}, {}, {2, 3, 40, 40}},
                        {{2, 1, 5, 1}, {1, 6, 1, 9}, {9}},
                        {{300, 300}, {1}, {1}}};
  for (const Case& c : cases) {
    for (int constants = 0; constants < 8; ++constants) {
      Probe probe{.op = "Where",
                  .inputs = {{random_bool(c.condition), (constants & 1) != 0},
                             {random_f32(c.x, 3), (constants & 2) != 0},
                             {random_f32(c.y, 4), (constants & 4) != 0}},
                  .threads = 2};
      const ProbeResult result = run_probe(probe, lower_f_where);
      ASSERT_EQ(result.reject, "");
      expect_same_f32(result.outputs[0], probe.reference()[0], to_string(c.x));
    }
  }
}

TEST(Where, SaysWhyNot) {
  const Tensor x(Dtype::s64, Shape{3});
  const Probe probe{.op = "Where", .inputs = {{random_bool({3})}, {x}, {x}}};
  EXPECT_EQ(run_probe(probe, lower_f_where).reject, "only f32 values are chosen from");
}

}  // namespace
}  // namespace octet
