// SPDX-License-Identifier: Apache-2.0
// Softmax and normalizations on the device against the scalar reference.
#include <gtest/gtest.h>

#include <limits>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"

namespace octet {
namespace {

struct Quant {
  f32 scale_x;
  s64 zero_x;
  f32 scale_y;
  s64 zero_y;
};

// Steep and flat, ties (scales that are powers of two), results beyond the codes on both sides.
const Quant kQuants[] = {{0.1f, 100, 1.0f / 255.0f, 0},
                         {0.03125f, 100, 0.015625f, 127},
                         {2e37f, 90, 0.0078125f, 0},
                         {0.5f, 12, 2e-38f, 100}};
const s64 kCounts[] = {1, 2, 15, 16, 17, 33, 130, 768, 1025};

Probe code_probe(const char* op, const Tensor& x, const Quant& quant) {
  Probe probe{.op = op, .inputs = {activation(x)}};
  probe.attrs.set("scales", std::vector<f32>{quant.scale_x, quant.scale_y});
  if (x.dtype() != Dtype::f32) probe.attrs.set("input_zero_points", std::vector<s64>{quant.zero_x});
  probe.attrs.set("output_zero_point", quant.zero_y);
  return probe;
}

Tensor special_f32(const Shape& shape) {
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::numeric_limits<f32>::quiet_NaN();
  Tensor x = random_f32(shape, 4, 8.0f);
  const auto values = x.mutable_as<f32>();
  const f32 odd[] = {-inf, nan, inf, 1e-40f, -0.0f, 3e38f};
  for (size_t i = 0; i < std::size(odd) && 37 * i < values.size(); ++i) values[37 * i] = odd[i];
  return x;
}

TEST(GpuSoftmax, Codes) {
  NEEDS_GPU();
  for (const Quant& quant : kQuants) {
    for (s64 count : kCounts) {
      const std::string what = fmt::format("{} of scale {}", count, quant.scale_x);
      expect_exact_on_gpu(code_probe("QSoftmax", random_u8({21, count}, 5), quant),
                          cuda::lower_softmax, what);
      Probe from_signed = code_probe("QSoftmax", random_s8({3, 5, count}, 5), quant);
      from_signed.attrs.set("output_dtype", std::string("s8"));
      expect_exact_on_gpu(from_signed, cuda::lower_softmax, what + ", s8");
      expect_exact_on_gpu(code_probe("QSoftmax", random_f32({7, count}, 6, 8.0f), quant),
                          cuda::lower_softmax, what + ", of reals");
    }
  }
}

// The code of 0 for NaN, and no other row's.
TEST(GpuSoftmax, CodesOfNan) {
  NEEDS_GPU();
  for (s64 count : {5, 16, 130, 768}) {
    for (const Quant& quant : kQuants)
      expect_exact_on_gpu(code_probe("QSoftmax", special_f32({7, count}), quant),
                          cuda::lower_softmax, fmt::format("{} of NaN", count));
  }
}

TEST(GpuSoftmax, RealsAndAxes) {
  NEEDS_GPU();
  for (s64 axis : {0, 1, 2}) {
    Probe probe{.op = "Softmax", .inputs = {activation(special_f32({19, 33, 7}))}};
    probe.attrs.set("axis", axis);
    expect_exact_on_gpu(probe, cuda::lower_softmax, fmt::format("axis {}", axis));
  }
  Probe flat{.op = "Softmax", .inputs = {activation(random_f32({3, 40, 30}, 6, 8.0f))}};
  flat.attrs.set("axis", s64{1}), flat.attrs.set("flatten", s64{1});
  expect_exact_on_gpu(flat, cuda::lower_softmax, "flattened");
}

TEST(GpuRowFunctions, RowsOfAnyAxis) {
  NEEDS_GPU();
  for (s64 count : kCounts) {
    for (s64 p : {0, 1, 2}) {  // 0: LogSoftmax
      const auto lowering = p == 0 ? cuda::lower_log_softmax : cuda::lower_lp_norm;
      Probe probe{.op = p == 0 ? "LogSoftmax" : "LpNormalization"};
      if (p != 0) probe.attrs.set("p", p);
      probe.attrs.set("axis", s64{-1});
      const std::string what = fmt::format("{} of {}, {}", probe.op, count, p);
      probe.inputs = {activation(random_f32({21, count}, 5, 8.0f))};
      expect_exact_on_gpu(probe, lowering, what);
      probe.inputs = {activation(special_f32({5, count}))};
      expect_exact_on_gpu(probe, lowering, what + ", odd");
      probe.attrs.set("axis", s64{1});
      probe.inputs = {activation(random_f32({2, count, 3}, 5, 8.0f))};
      expect_exact_on_gpu(probe, lowering, what + ", columns");
      probe.inputs = {activation(Tensor(Dtype::f32, {2, count, 2}))};
      expect_exact_on_gpu(probe, lowering, what + ", zeros");
    }
  }
}

Probe with_parameters(Probe probe, s64 count, bool bias, bool constants = true) {
  probe.inputs.push_back({random_f32({count}, 2), constants});
  if (bias) probe.inputs.push_back({random_f32({count}, 3), constants});
  return probe;
}

TEST(GpuLayerNorm, Codes) {
  NEEDS_GPU();
  for (const Quant& quant : kQuants) {
    for (s64 count : kCounts) {
      const Probe probe = code_probe("QLayerNormalization", random_u8({2, 9, count}, 1), quant);
      expect_exact_on_gpu(with_parameters(probe, count, count % 2 == 0), cuda::lower_layer_norm,
                          fmt::format("{} of scale {}", count, quant.scale_x));
    }
  }
}

TEST(GpuLayerNorm, CodesOfNan) {
  NEEDS_GPU();
  for (s64 count : {5, 16, 130, 768}) {
    for (const Quant& quant : kQuants) {
      const Probe probe = code_probe("QLayerNormalization", special_f32({18, count}), quant);
      expect_exact_on_gpu(with_parameters(probe, count, true), cuda::lower_layer_norm,
                          fmt::format("{} of NaN", count));
    }
  }
}

TEST(GpuLayerNorm, Reals) {
  NEEDS_GPU();
  for (s64 count : kCounts) {
    for (bool bias : {false, true}) {
      const Tensor x = special_f32({18, count});
      const std::string what = fmt::format("{} reals", count);
      expect_exact_on_gpu(with_parameters({"LayerNormalization", {activation(x)}}, count, bias),
                          cuda::lower_layer_norm, what);
      expect_exact_on_gpu(
          with_parameters({"LayerNormalization", {activation(x)}}, count, bias, false),
          cuda::lower_layer_norm, what + ", parameters of a run");
    }
    expect_exact_on_gpu(
        with_parameters({"RMSNormalization", {activation(special_f32({18, count}))}}, count, false),
        cuda::lower_rms_norm, fmt::format("{} by their root", count));
  }
}

// Layer normalization by the kernel of that number alone.
size_t kernel_of_test = 0, kernels_of_test = 1;

Offer lower_one_norm(const LowerRequest& request) {
  Target target = request.target;
  target.keep_others = true;
  Offer offer = cuda::lower_layer_norm(
      {request.graph, request.node, request.inputs, request.outputs, request.layouts, target});
  auto* all = std::get_if<Candidates>(&offer);
  if (all == nullptr) return offer;
  kernels_of_test = all->size();
  return all->at(kernel_of_test);
}

// Rows that one, two or four eights of threads share, fewer rows than a block has among them.
TEST(GpuLayerNorm, EveryShareOfARow) {
  NEEDS_GPU();
  size_t most = 0;
  for (const s64 count : {16, 32, 160, 768, 1280, 1536, 3072, 4096}) {
    kernels_of_test = 1;
    for (kernel_of_test = 0; kernel_of_test < kernels_of_test; ++kernel_of_test) {
      const std::string what = fmt::format("{} by kernel {}", count, kernel_of_test);
      for (const s64 rows : {1, 37}) {
        const Probe codes =
            code_probe("QLayerNormalization", random_s8({rows, count}, 1), kQuants[0]);
        expect_exact_on_gpu(with_parameters(codes, count, true), lower_one_norm, what);
      }
      const Probe reals{"LayerNormalization", {activation(special_f32({37, count}))}};
      expect_exact_on_gpu(with_parameters(reals, count, true), lower_one_norm, what + ", reals");
    }
    most = std::max(most, kernels_of_test);
  }
  EXPECT_EQ(most, 3u);
}

// Shares near the middle between two codes, where a quotient is divided and not guessed: equal elements have equal shares, 1 / count.
TEST(GpuSoftmax, SharesBetweenTwoCodes) {
  NEEDS_GPU();
  for (s64 count : {16, 96}) {
    for (f32 codes : {0.5f, 100.5f}) {
      Quant quant{1.0f, 0, 1.0f / (codes * static_cast<f32>(count)), 0};
      for (const f32 nudge : {0.0f, 1e-7f, -1e-7f}) {
        quant.scale_y *= 1.0f + nudge;
        expect_exact_on_gpu(code_probe("QSoftmax", Tensor(Dtype::f32, {40, count}), quant),
                            cuda::lower_softmax, fmt::format("{} codes of {}", codes, count));
      }
    }
  }
}

TEST(GpuInstanceNorm, Layouts) {
  NEEDS_GPU();
  for (const Shape& shape : {Shape{2, 5, 3, 7}, Shape{1, 37, 12, 11}, Shape{1, 16, 40, 30}}) {
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      Probe probe{"InstanceNormalization", {activation(special_f32(shape), layout)}};
      expect_exact_on_gpu(with_parameters(probe, shape[1], true), cuda::lower_instance_norm,
                          "images");
    }
  }
  Probe probe{"InstanceNormalization", {activation(random_f32({2, 3, 50}, 1))}};
  expect_exact_on_gpu(with_parameters(probe, 3, true), cuda::lower_instance_norm, "signals");
}

// One parameter for each channel, or one for each group.
TEST(GpuGroupNorm, GroupsOfAnySize) {
  NEEDS_GPU();
  for (const Shape& shape : {Shape{2, 12, 3, 7}, Shape{1, 12, 16, 11}, Shape{3, 12},
                             Shape{2, 12, 2, 3, 4}, Shape{1, 12, 40, 30}}) {
    for (s64 groups : {1, 2, 3, 12}) {
      for (s64 parameters : {groups, s64{12}}) {
        Probe probe{"GroupNormalization", {activation(special_f32(shape))}};
        probe.attrs.set("num_groups", groups);
        const std::string what = fmt::format("{} groups, {} parameters", groups, parameters);
        expect_exact_on_gpu(with_parameters(probe, parameters, true), cuda::lower_group_norm, what);
        if (parameters == shape[1])
          expect_exact_on_gpu(with_parameters(probe, parameters, true, false),
                              cuda::lower_group_norm, what + " of a run");
        if (shape.rank() != 4) continue;
        probe.inputs[0].layout = Layout::nhwc;
        expect_exact_on_gpu(with_parameters(probe, parameters, true), cuda::lower_group_norm,
                            what + ", nhwc");
      }
    }
  }
  Probe given{"GroupNormalization", {activation(random_f32({2, 4, 9}, 1))}};
  given.attrs.set("num_groups", s64{2});
  EXPECT_EQ(run_on_gpu(with_parameters(given, 2, true, false), cuda::lower_group_norm).reject,
            "a run brings one scale or bias for several channels");
}

}  // namespace
}  // namespace octet
