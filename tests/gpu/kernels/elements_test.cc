// SPDX-License-Identifier: Apache-2.0
// Functions of single reals and normalizations by channel on the device against the scalar reference.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"
#include "ops/registry.h"

namespace octet {
namespace {

// Every 2^15th float of either sign: all exponents, subnormals, infinities, NaN; then values near zero.
Tensor all_kinds() {
  constexpr u32 kStep = 1u << 15, kCount = 1u << 17;
  Tensor x(Dtype::f32, Shape{1, 4, 210, 160});
  const auto values = x.mutable_as<f32>();
  for (u32 i = 0; i < kCount; ++i) values[i] = std::bit_cast<f32>(i * kStep);
  const Tensor rest = random_f32({static_cast<s64>(values.size() - kCount)}, 1, 4.0f);
  std::ranges::copy(rest.as<f32>(), values.begin() + kCount);
  return x;
}

Tensor scalar(f32 value) { return Tensor::scalar(value); }

// Each function that has a kernel, with and without its attributes.
std::vector<Probe> unary_probes() {
  std::vector<Probe> probes;
  for (const char* op : {"Abs",      "Ceil",           "Erf",       "Exp",       "Floor",
                         "Gelu",     "HardSigmoid",    "HardSwish", "LeakyRelu", "Log",
                         "Neg",      "Reciprocal",     "Relu",      "Round",     "Sigmoid",
                         "Sqrt",     "Swish",          "Tanh",      "Celu",      "Elu",
                         "Mish",     "Selu",           "Shrink",    "Sign",      "Softplus",
                         "Softsign", "ThresholdedRelu"})
    probes.push_back({.op = op, .inputs = {{}}});
  Probe gelu{.op = "Gelu", .inputs = {{}}};
  gelu.attrs.set("approximate", std::string("tanh"));
  probes.push_back(gelu);
  Probe sigmoid{.op = "HardSigmoid", .inputs = {{}}};
  sigmoid.attrs.set("alpha", 0.3f), sigmoid.attrs.set("beta", 0.1f);
  probes.push_back(sigmoid);
  for (const char* op : {"LeakyRelu", "Swish", "Celu", "Elu", "Selu", "ThresholdedRelu"}) {
    Probe probe{.op = op, .inputs = {{}}};
    probe.attrs.set("alpha", 0.7f);
    probes.push_back(probe);
  }
  Probe shrink{.op = "Shrink", .inputs = {{}}};
  shrink.attrs.set("lambd", 1.25f), shrink.attrs.set("bias", 0.3f);
  probes.push_back(shrink);
  for (const char* to : {"f16", "bf16"}) {
    Probe probe{.op = "RoundTo", .inputs = {{}}};
    probe.attrs.set("to", std::string(to));
    probes.push_back(probe);
  }
  probes.push_back({.op = "Clip", .inputs = {{}, constant(scalar(-0.5f)), constant(scalar(6.0f))}});
  probes.push_back({.op = "Clip", .inputs = {{}, omitted(), constant(scalar(1.0f))}});
  for (const f32 exponent : {2.0f, 1.0f, 0.5f, 0.0f, -1.0f})
    probes.push_back({.op = "Pow", .inputs = {{}, constant(scalar(exponent))}});
  return probes;
}

TEST(GpuUnary, EveryFunctionOfAllKindsOfReals) {
  NEEDS_GPU();
  for (Probe probe : unary_probes()) {
    probe.inputs[0] = activation(all_kinds());
    expect_exact_on_gpu(probe, cuda::lower_reals, probe.op);
  }
}

TEST(GpuUnary, Layouts) {
  NEEDS_GPU();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 16, 4, 4}, Shape{1, 1, 9, 9}}) {
    Probe probe{.op = "Sigmoid", .inputs = {activation(random_f32(shape, 1), Layout::nhwc)}};
    for (s64 spread : {0, 3}) {
      probe.spread = spread;
      expect_exact_on_gpu(probe, cuda::lower_reals, "nhwc");
    }
  }
  for (s64 count : {1, 3, 1021})
    expect_exact_on_gpu({.op = "Tanh", .inputs = {activation(random_f32({count}, 1))}},
                        cuda::lower_reals, "linear");
}

TEST(GpuUnary, SaysWhyNot) {
  NEEDS_GPU();
  const std::string why = "there is no such function, or a parameter is not constant";
  const Probe cube{.op = "Pow", .inputs = {activation(random_f32({4}, 1)), constant(scalar(3.0f))}};
  EXPECT_EQ(run_on_gpu(cube, cuda::lower_reals).reject, "the exponent is not -1, 0, 1/2, 1 or 2");
  const Probe bounds{.op = "Clip", .inputs = {activation(random_f32({4}, 1)), {scalar(0.0f)}}};
  EXPECT_EQ(run_on_gpu(bounds, cuda::lower_reals).reject, why);
}

TEST(GpuFunction, EveryFunctionToCodes) {
  NEEDS_GPU();
  for (Probe probe : unary_probes()) {
    if (probe.inputs.size() != 1 || find_op(probe.op)->quant.kind != QuantKind::table) continue;
    probe.attrs.set("function", probe.op);
    probe.op = "QFunction";
    probe.inputs[0] = activation(all_kinds());
    probe.attrs.set("scale", 0.031f);
    probe.attrs.set("output_zero_point", s64{7});
    const std::string what = probe.attrs.s("function", "");
    expect_exact_on_gpu(probe, cuda::lower_function, what);
    probe.attrs.set("output_dtype", std::string("s8"));
    probe.attrs.set("scale", 0.0078125f);
    probe.attrs.set("lo", s64{-100});
    expect_exact_on_gpu(probe, cuda::lower_function, what + ", s8");
  }
}

Tensor with_odd_reals(const Shape& shape, u64 seed) {
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  const f32 odd[] = {0.0f, -0.0f, kInfinity, -kInfinity, std::nanf(""), 1e-40f};
  Tensor x = random_f32(shape, seed);
  const auto values = x.mutable_as<f32>();
  // At other places for each seed, so that they meet each other and common values.
  for (size_t i = seed; i < values.size(); i += 7 + seed) values[i] = odd[i % std::size(odd)];
  return x;
}

TEST(GpuBinary, EveryFunctionAndBroadcast) {
  NEEDS_GPU();
  const Shape full{2, 12, 5, 6};
  for (const char* op : {"Add", "Div", "Max", "Min", "Mul", "PRelu", "Sub"}) {
    for (const Shape& other : {full, Shape{12, 1, 1}, Shape{1}, Shape{6}, Shape{2, 1, 5, 1}}) {
      for (Layout layout : {Layout::linear, Layout::nhwc}) {
        for (bool is_constant : {false, true}) {
          Probe probe{.op = op, .inputs = {activation(with_odd_reals(full, 1), layout)}};
          probe.inputs.push_back(
              {with_odd_reals(other, 2), is_constant, other.rank() == 4 ? layout : Layout::linear});
          expect_exact_on_gpu(probe, cuda::lower_reals, op);
        }
      }
    }
    if (std::string_view(op) == "PRelu") continue;
    const Probe turned{.op = op,
                       .inputs = {constant(with_odd_reals({12, 1, 1}, 2)),
                                  activation(with_odd_reals(full, 1), Layout::nhwc)}};
    expect_exact_on_gpu(turned, cuda::lower_reals, op);
    const Probe outer{
        .op = op,
        .inputs = {activation(with_odd_reals({7, 1}, 2)), activation(with_odd_reals({1, 9}, 1))}};
    expect_exact_on_gpu(outer, cuda::lower_reals, op);
  }
}

TEST(GpuBinary, FusedActivations) {
  NEEDS_GPU();
  for (const char* kind : {"relu", "clip", "leaky_relu"}) {
    Probe probe{
        .op = "Add",
        .inputs = {activation(with_odd_reals({5, 77}, 1)), activation(with_odd_reals({5, 77}, 2))}};
    probe.attrs.set("activation", std::string(kind));
    probe.attrs.set("activation_min", -0.5f);
    probe.attrs.set("activation_max", 1.5f);
    expect_exact_on_gpu(probe, cuda::lower_reals, kind);
  }
}

Tensor positive(s64 count) {
  Tensor x = random_f32({count}, 9);
  for (f32& value : x.mutable_as<f32>()) value = std::fabs(value) + 0.1f;
  return x;
}

TEST(GpuBatchNorm, ShapesAndLayouts) {
  NEEDS_GPU();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 16, 4, 4}, Shape{9, 6}, Shape{2, 6, 30},
                             Shape{2, 3, 4, 5, 6}}) {
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      if (layout == Layout::nhwc && shape.rank() != 4) continue;
      Probe probe{.op = "BatchNormalization",
                  .inputs = {activation(with_odd_reals(shape, 1), layout)}};
      for (u64 i = 2; i < 5; ++i) probe.inputs.push_back(constant(random_f32({shape[1]}, i)));
      probe.inputs.push_back(constant(positive(shape[1])));
      probe.spread = 3;
      expect_exact_on_gpu(probe, cuda::lower_batch_norm, "batch norm");
    }
  }
}

TEST(GpuInstanceNorm, Codes) {
  NEEDS_GPU();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 16, 40, 41}, Shape{1, 64, 9, 9},
                             Shape{2, 132, 5, 5}, Shape{2, 6, 30}, Shape{1, 1, 1, 1}}) {
    for (bool is_signed : {false, true}) {
      const Tensor x = is_signed ? random_s8(shape, 3) : random_u8(shape, 3);
      Probe probe{.op = "QInstanceNormalization", .inputs = {activation(x)}};
      probe.inputs.push_back(constant(random_f32({shape[1]}, 4)));
      probe.inputs.push_back(constant(random_f32({shape[1]}, 5)));
      probe.attrs.set("scales", std::vector<f32>{0.02f, 0.013f});
      probe.attrs.set("output_zero_point", s64{is_signed ? -11 : 120});
      if (is_signed) probe.attrs.set("output_dtype", std::string("s8"));
      for (s64 spread : {0, 3}) {
        probe.spread = spread;
        expect_exact_on_gpu(probe, cuda::lower_instance_norm_codes, "instance norm");
      }
      probe.attrs.set("lo", s64{3});
      expect_exact_on_gpu(probe, cuda::lower_instance_norm_codes, "a clamp");
    }
  }
}

TEST(GpuInstanceNorm, RealsToCodes) {
  NEEDS_GPU();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 16, 20, 21}}) {
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      Probe probe{.op = "QInstanceNormalization",
                  .inputs = {activation(random_f32(shape, 3), layout)}};
      probe.inputs.push_back(constant(random_f32({shape[1]}, 4)));
      probe.inputs.push_back(constant(random_f32({shape[1]}, 5)));
      probe.attrs.set("scales", std::vector<f32>{1.0f, 0.013f});
      expect_exact_on_gpu(probe, cuda::lower_instance_norm_codes, "reals");
      probe.attrs.set("output_zero_point", s64{100});
      probe.attrs.set("lo", s64{100});
      expect_exact_on_gpu(probe, cuda::lower_instance_norm_codes, "a clamp");
    }
  }
}

// Equal codes: no variance; and sums of squares near 2^32 in one piece.
TEST(GpuInstanceNorm, LargestSums) {
  NEEDS_GPU();
  const Shape shape{1, 4, 300, 300};
  for (Codes codes : {Codes::highest, Codes::extremes}) {
    Probe probe{.op = "QInstanceNormalization", .inputs = {activation(random_u8(shape, 3, codes))}};
    probe.inputs.push_back(constant(random_f32({4}, 4)));
    probe.inputs.push_back(constant(random_f32({4}, 5)));
    probe.attrs.set("scales", std::vector<f32>{0.02f, 0.013f});
    expect_exact_on_gpu(probe, cuda::lower_instance_norm_codes, "largest sums");
  }
}

}  // namespace
}  // namespace octet
