// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats on a GPU as one kernel: beside the sum in f64, and beside the CPU's layers, which round between each other.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "attention_reals_graph.h"
#include "backends/backends.h"
#include "backends/cuda/device.h"
#include "on_gpu.h"
#include "plan/tuning.h"

namespace octet::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr f64 kInfinity = std::numeric_limits<f64>::infinity();

// Of more than 72 numbers: queries, keys and values of a tile lie in shared memory.
bool takes_large_heads(const Device& gpu) {
  constexpr s64 kMuch = 99 << 10;
  return cuda::cuda_device(&gpu).chip().shared_bytes_per_block >= kMuch;
}

// One row of one head, in f64, and what errors are made of.
struct Exact {
  std::vector<f64> y, bound, cpu_bound;
};

class Reference {
 public:
  Reference(const RealAttentionCase& c, const std::vector<Tensor>& inputs)
      : c_(c), inputs_(inputs), mask_(c.mask == MaskForm::none ? std::vector<f32>{} : mask_of(c)) {}

  Exact row(s64 n, s64 h, s64 i) const {
    std::vector<f64> scores(static_cast<size_t>(c_.keys));
    f64 slack = 0, cpu_slack = 0, most = -kInfinity;
    for (s64 j = 0; j < c_.keys; ++j) {
      f64 sum = 0, size = 0;
      for (s64 d = 0; d < c_.size; ++d) {
        const f64 product = f64{at(0, n, i, h, d)} * f64{at(1, n, j, h, d)};
        sum += product, size += std::abs(product);
      }
      if (c_.activated == 's') sum = std::max(sum, 0.0);
      const f64 scaled = sum * c_.factor(), masked = scaled + mask(n, i, j);
      scores[static_cast<size_t>(j)] = masked;
      most = std::max(most, masked);
      if (!std::isfinite(masked) || masked < -1000) continue;  // its power is nothing
      const f64 own = truncations(c_.size) * size * c_.factor();
      slack = std::max(slack, own + 4 * kF32 * (std::abs(scaled) + std::abs(masked)));
      // Operands, products, what is scaled and what is masked are rounded: a unit each of 16 bits.
      cpu_slack = std::max(
          cpu_slack,
          unit() * (4 * size * c_.factor() + std::abs(scaled) + std::abs(masked)) + tiny() * 4);
    }
    return summed(n, h, scores, most, {2 * slack, 2 * cpu_slack});
  }

 private:
  static constexpr f64 kF32 = 0x1p-24;
  f64 unit() const { return std::string(c_.type) == "f16" ? 0x1p-11 : 0x1p-8; }
  f64 tiny() const {
    return std::string(c_.type) == "f16" ? 0x1p-25 : 0.0;
  }  // half of the least subnormal
  // Of a tensor core: each of 8 products and the sum so far lose less than 2^-24 of the largest among them, which is no more than the sum of their sizes; the sum loses 2^-23.
  static f64 truncations(s64 count) { return 11 * static_cast<f64>((count + 7) / 8) * 0x1p-24; }

  f32 at(size_t operand, s64 n, s64 row, s64 h, s64 d) const {
    const s64 width = c_.heads * c_.size, column = h * c_.size + d;
    if (c_.packed)
      return inputs_[0].as<f32>()[static_cast<size_t>((n * c_.queries + row) * 3 * width +
                                                      static_cast<s64>(operand) * width + column)];
    const s64 rows = operand == 0 ? c_.queries : c_.keys;
    return inputs_[operand].as<f32>()[static_cast<size_t>((n * rows + row) * width + column)];
  }
  f64 mask(s64 n, s64 i, s64 j) const {
    if (mask_.empty()) return 0;
    const Shape shape = c_.mask_shape();
    const s64 image = shape[0] == 1 ? 0 : n, row = shape[2] == 1 ? 0 : i;
    return f64{mask_[static_cast<size_t>((image * shape[2] + row) * c_.keys + j)]};
  }

  struct Slack {
    f64 gpu, cpu;
  };
  Exact summed(s64 n, s64 h, const std::vector<f64>& scores, f64 most, Slack slack) const {
    f64 whole = 0;
    for (const f64 s : scores) whole += std::exp(s - most);
    Exact exact;
    if (c_.guarded && std::isinf(most)) {
      exact.y = exact.bound = exact.cpu_bound = std::vector<f64>(static_cast<size_t>(c_.size), 0.0);
      return exact;
    }
    const f64 tiles =
        static_cast<f64>(c_.keys) / 16 + 1;  // as many as may scale what was summed before
    const f64 power = std::expm1(slack.gpu) + tiles * (slack.gpu + 0x1p-21);
    const f64 relative =
        2 * power + unit() + truncations(c_.keys) + (static_cast<f64>(c_.keys) + 8) * kF32;
    const f64 cpu = 2 * std::expm1(slack.cpu) + unit() + 2 * static_cast<f64>(c_.keys + 8) * kF32;
    for (s64 d = 0; d < c_.size; ++d) {
      f64 sum = 0, size = 0, sizes = 0;
      for (s64 j = 0; j < c_.keys; ++j) {
        const f64 value = f64{at(2, n, j, h, d)},
                  share = std::exp(scores[static_cast<size_t>(j)] - most) / whole;
        sum += share * value, size += share * std::abs(value), sizes += std::abs(value);
      }
      if (c_.activated == 'o') sum = std::max(sum, 0.0);
      const f64 end = unit() * std::abs(sum) + tiny();
      exact.y.push_back(sum);
      exact.bound.push_back((1 + unit()) * (size * relative + tiny() * sizes) + end);
      exact.cpu_bound.push_back((1 + unit()) * (size * cpu + tiny() * sizes) + end);
    }
    return exact;
  }

  const RealAttentionCase& c_;
  const std::vector<Tensor>& inputs_;
  const std::vector<f32> mask_;
};

class GpuAttentionOfReals : public OnGpu {
 protected:
  Target target() const { return make_target(device_->name(), 1, nullptr); }

  std::vector<std::string> kernels(const Graph& graph) const {
    return kernel_names(plan_of(graph, target()));
  }

  void expect_near(const RealAttentionCase& c) const {
    SCOPED_TRACE(c.text());
    const Graph graph = graph_of(c);
    if (!multiplies(*device_, c.type)) {  // in pieces, by the CUDA cores
      EXPECT_THAT(kernels(graph), Not(Contains(HasSubstr("attention_"))));
      return;
    }
    if (c.activated != 0) {  // in pieces, which round between each other
      EXPECT_THAT(kernels(graph), Not(Contains(HasSubstr("attention_"))));
    } else {
      ASSERT_THAT(kernels(graph), Contains(HasSubstr(fmt::format("attention_{}_", c.type))));
      EXPECT_THAT(kernels(graph), Not(Contains("transpose")));
    }
    expect_near(c, graph, target());
  }

  static void expect_near(const RealAttentionCase& c, const Graph& graph, const Target& target) {
    constexpr u32 kSeed = 3;
    const std::vector<Tensor> inputs = inputs_of(c, graph, kSeed);
    const Tensor got = run_on(graph, inputs, target)[0];
    const Tensor cpu = run_on(graph, inputs, make_target("cpu", 1, nullptr))[0];
    const Reference reference(c, inputs);
    for (s64 n = 0; n < c.batch; ++n)
      for (s64 i = 0; i < c.queries; ++i)
        for (s64 h = 0; h < c.heads; ++h) {
          const Exact exact = reference.row(n, h, i);
          const size_t first =
              static_cast<size_t>((n * c.queries + i) * c.heads + h) * static_cast<size_t>(c.size);
          if (!expect_row(c, exact, got.as<f32>().subspan(first), cpu.as<f32>().subspan(first)))
            return;
        }
  }

  static bool expect_row(const RealAttentionCase& c, const Exact& exact, std::span<const f32> got,
                         std::span<const f32> cpu) {
    for (size_t d = 0; d < exact.y.size(); ++d) {
      const f64 want = c.stored && !c.codes ? -exact.y[d] : exact.y[d];
      const f64 step = c.codes ? 0.03125 / 2 : 0.0;  // to the nearest code
      EXPECT_NEAR(f64{got[d]}, want,
                  (c.activated != 0 ? exact.cpu_bound[d] : exact.bound[d]) + step);
      if (c.layers) {
        EXPECT_NEAR(f64{cpu[d]}, want, exact.cpu_bound[d] + step);
      }
      if (::testing::Test::HasFailure()) return false;
    }
    return true;
  }
};

TEST_F(GpuAttentionOfReals, AnyLength) {
  for (const s64 length : {1, 5, 64}) expect_near({.queries = length, .keys = length});
  expect_near({.heads = 1, .queries = 130, .keys = 77, .size = 32, .type = "bf16"});
  expect_near({.heads = 1, .queries = 3, .keys = 384, .size = 32, .type = "bf16"});
  expect_near({.heads = 1, .queries = 5, .keys = 1000, .size = 64});
}

// Each tile that accepts it, by a choice as measurements make one.
TEST_F(GpuAttentionOfReals, AnyTile) {
  const RealAttentionCase c{.queries = 130, .keys = 150, .size = 24, .mask = MaskForm::rows};
  const Graph graph = graph_of(c);
  Target all = target();
  all.keep_others = true;
  const Plan plan = plan_of(graph, all);
  size_t tiles = 0;
  for (const PlanStep& step : plan.steps) {
    if (!step.candidate.kernel.starts_with("attention_")) continue;
    for (const Candidate& kernel : step.kernels) {
      SCOPED_TRACE(kernel.kernel);
      const auto tuning = std::make_shared<Tuning>();
      tuning->set(tuning_key(request_of(plan, step, all)), {kernel.kernel, 1.0});
      Target tuned = target();
      tuned.tuning = tuning;
      EXPECT_THAT(kernel_names(plan_of(graph, tuned)), Contains(kernel.kernel));
      expect_near(c, graph, tuned);
      ++tiles;
    }
  }
  EXPECT_GE(tiles, 4u);
}

TEST_F(GpuAttentionOfReals, AnyHead) {
  for (const s64 size : {8, 24, 64, 72, 128, 256}) {
    if (size > 72 && !takes_large_heads(*device_)) continue;
    expect_near({.queries = 20, .keys = 40, .size = size, .type = size == 72 ? "bf16" : "f16"});
  }
  expect_near({.heads = 3, .queries = 20, .keys = 40, .size = 10});  // accesses of 4 bytes
  expect_near({.heads = 3, .queries = 20, .keys = 40, .size = 7});   // of 2
}

// What exporters write for queries from which every key is hidden.
TEST_F(GpuAttentionOfReals, RowsThatHideEveryKey) {
  constexpr f32 kHidden = -std::numeric_limits<f32>::infinity();
  for (const char* type : {"f16", "bf16"})
    for (const MaskForm mask : {MaskForm::keys, MaskForm::rows, MaskForm::shared})
      expect_near({.batch = 2,
                   .queries = 21,
                   .keys = mask == MaskForm::rows ? 100 : 77,
                   .type = type,
                   .mask = mask,
                   .hidden = kHidden,
                   .guarded = true});
  expect_near({.queries = 3,
               .keys = 300,
               .mask = MaskForm::rows,
               .hidden = kHidden,
               .codes = true,
               .guarded = true});
}

TEST_F(GpuAttentionOfReals, AnyMask) {
  for (const MaskForm mask : {MaskForm::keys, MaskForm::rows, MaskForm::shared, MaskForm::constant})
    for (const f32 hidden : {-std::numeric_limits<f32>::infinity(), -65504.0f, -10000.0f}) {
      const bool infinite = std::isinf(hidden);
      // The text of a graph has no infinities.
      if (infinite && mask == MaskForm::constant) continue;
      expect_near({.batch = 2, .queries = 21, .keys = 77, .mask = mask, .hidden = hidden});
    }
}

// As masked_fill has it.
TEST_F(GpuAttentionOfReals, NumbersInTheirPlace) {
  for (const f32 hidden : {-65504.0f, -10000.0f})
    expect_near(
        {.batch = 2, .queries = 21, .keys = 77, .mask = MaskForm::chosen, .hidden = hidden});
  expect_near({.queries = 70, .keys = 20, .type = "bf16", .mask = MaskForm::chosen});
}

TEST_F(GpuAttentionOfReals, AnyScale) {
  expect_near({.type = "bf16", .scale = ScaleForm::none, .spread = 1.0f});
  expect_near({.scale = ScaleForm::both, .spread = 1.0f});
  expect_near({.scale = ScaleForm::query, .spread = 1.0f});
  expect_near({.type = "bf16", .scale = ScaleForm::divided, .spread = 1.0f});
}

TEST_F(GpuAttentionOfReals, PartsOfOneValue) {
  expect_near({.batch = 2, .heads = 3, .queries = 65, .keys = 65, .size = 16, .packed = true});
  expect_near({.batch = 2,
               .heads = 3,
               .queries = 65,
               .keys = 65,
               .size = 16,
               .packed = true,
               .stored = false});
}

// Products of three axes around a mask of four, as encoders with bmm have them.
TEST_F(GpuAttentionOfReals, JoinedHeads) {
  expect_near({.batch = 2, .queries = 21, .keys = 77, .joined = true});
  expect_near({.batch = 2, .queries = 21, .keys = 77, .mask = MaskForm::keys, .joined = true});
}

// Between layers of INT8 it reads codes and writes them.
TEST_F(GpuAttentionOfReals, BetweenCodes) {
  expect_near({.batch = 2, .queries = 21, .keys = 77, .size = 16, .codes = true});
  expect_near({.queries = 70, .keys = 150, .size = 40, .type = "bf16", .codes = true});
  expect_near({.heads = 3, .queries = 5, .keys = 20, .size = 7, .codes = true});
  const RealAttentionCase packed{
      .queries = 33, .keys = 33, .size = 32, .codes = true, .packed = true};
  expect_near(packed);
  // The caller's x becomes codes, and the result's codes reals; nothing between.
  EXPECT_THAT(kernels(graph_of(packed)), Contains(HasSubstr("quantize")).Times(2));
}

// What stays in pieces says why, and its products run on tensor cores.
TEST_F(GpuAttentionOfReals, InPieces) {
  const Graph graph = graph_of({.queries = 5, .keys = 20, .size = 264});
  const Plan plan = plan_of(graph, target());
  std::vector<std::string> reasons;
  for (const PlanStep& step : plan.steps)
    reasons.insert(reasons.end(), step.rejects.begin(), step.rejects.end());
  EXPECT_THAT(kernel_names(plan), Contains(HasSubstr("matmul_of_f16_")).Times(2));
  EXPECT_THAT(reasons, Contains(HasSubstr("attention_reals: the size of a head is more than 256")));
}

TEST_F(GpuAttentionOfReals, AnActivationIsKept) {
  for (const char product : {'s', 'o'})
    expect_near({.queries = 20, .keys = 40, .activated = product});
}

// As far apart as the type's scores may be: one key has all, or keys are equal. Of the first the CPU's layers round scores by whole units, so their results say nothing.
TEST_F(GpuAttentionOfReals, LargeScores) {
  expect_near(
      {.queries = 20, .keys = 130, .scale = ScaleForm::query, .spread = 60.0f, .layers = false});
  expect_near({.queries = 20, .keys = 130, .scale = ScaleForm::none, .spread = 0.0f});
}

// A row of which every key is hidden by -inf is NaN, as Softmax has it; others are none the worse.
TEST_F(GpuAttentionOfReals, RowsOfNothing) {
  const RealAttentionCase c{.queries = 20,
                            .keys = 77,
                            .mask = MaskForm::shared,
                            .hidden = -std::numeric_limits<f32>::infinity()};
  const Graph graph = graph_of(c);
  std::vector<Tensor> inputs = inputs_of(c, graph, 3);
  const auto mask = inputs[3].mutable_as<f32>().subspan(static_cast<size_t>(2 * c.keys),
                                                        static_cast<size_t>(c.keys));
  std::ranges::fill(mask, c.hidden);
  const Tensor got = run_on(graph, inputs, target())[0];
  const size_t width = static_cast<size_t>(c.heads * c.size);
  for (size_t i = 0; i < got.as<f32>().size(); ++i)
    ASSERT_EQ(std::isnan(got.as<f32>()[i]), i / width == 2) << i;
}

// NaN reaches the rows that read it and no others.
TEST_F(GpuAttentionOfReals, NotANumber) {
  const RealAttentionCase c{.queries = 20, .keys = 77};
  const Graph graph = graph_of(c);
  std::vector<Tensor> inputs = inputs_of(c, graph, 3);
  const size_t width = static_cast<size_t>(c.heads * c.size);
  inputs[0].mutable_as<f32>()[4 * width] = std::numeric_limits<f32>::quiet_NaN();  // of head 0
  const Tensor got = run_on(graph, inputs, target())[0];
  for (size_t i = 0; i < got.as<f32>().size(); ++i)
    ASSERT_EQ(std::isnan(got.as<f32>()[i]),
              i / static_cast<size_t>(c.size) == 4 * width / static_cast<size_t>(c.size))
        << i;
}

// The same bytes at any position of a batch.
TEST_F(GpuAttentionOfReals, EqualAtAnyPosition) {
  const RealAttentionCase c{.batch = 3, .queries = 21, .keys = 77, .mask = MaskForm::keys};
  const Graph graph = graph_of(c);
  std::vector<Tensor> inputs = inputs_of(c, graph, 3);
  for (Tensor& input : inputs) {
    const std::span<f32> all = input.mutable_as<f32>();
    const size_t image = all.size() / 3;
    std::copy_n(all.begin(), image, all.begin() + static_cast<std::ptrdiff_t>(image));
    std::copy_n(all.begin(), image, all.begin() + static_cast<std::ptrdiff_t>(2 * image));
  }
  const Tensor got = run_on(graph, inputs, target())[0];
  const std::span<const f32> y = got.as<f32>();
  const size_t image = y.size() / 3;
  for (size_t i = 0; i < image; ++i) {
    ASSERT_EQ(y[i], y[image + i]);
    ASSERT_EQ(y[i], y[2 * image + i]);
  }
}

// By the real compiler, where nothing runs: heads and lengths whose tiles differ, a mask, both types.
TEST(AttentionOfReals, Compiles) {
  if (!only_compiles()) GTEST_SKIP() << "kernels are compiled as they run";
  std::string why;
  const Device* device = gpu_device(why);
  ASSERT_NE(device, nullptr) << why;
  const RealAttentionCase cases[] = {{.queries = 64, .keys = 64, .size = 64},
                                     {.queries = 384, .keys = 384, .size = 64, .type = "bf16"},
                                     {.queries = 5, .keys = 77, .size = 24, .mask = MaskForm::rows},
                                     {.heads = 1, .queries = 3, .keys = 384, .size = 128}};
  for (const RealAttentionCase& c : cases) {
    if (!multiplies(*device, c.type) || (c.size > 72 && !takes_large_heads(*device))) continue;
    const Plan plan = plan_of(graph_of(c), make_target(device->name(), 1, nullptr));
    EXPECT_THAT(kernel_names(plan), Contains(HasSubstr(fmt::format("attention_{}_", c.type))));
    compile_kernels(plan);
  }
}

}  // namespace
}  // namespace octet::test
