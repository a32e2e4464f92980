// SPDX-License-Identifier: Apache-2.0
// Attention on a GPU, as one kernel where there is one: the bytes of the CPU, node by node.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "backends/backends.h"
#include "backends/cuda/device.h"
#include "codes_graph.h"
#include "compile_only.h"
#include "one_node.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "plan/bind.h"
#include "plan/chain_testing.h"

namespace octet::test {
namespace {

// `any`: whatever a float may be, NaN and infinities too; `any_keys`: of a key the same for all queries of an image; `windows`: of each head and each of two
// windows that an image is parted in, a batch's images and windows being two axes where it is added.
enum class MaskKind { none, keys, matrix, constant, hidden, any, any_keys, windows };
// Queries, keys and values are parts of one value: picked from it and turned, as PyTorch's MultiheadAttention has it, or split.
enum class Packed { no, picked, split };

struct AttentionCase {
  s64 batch = 1, heads = 2, queries = 20, keys = 20, size = 32;
  bool q_s8 = false, k_s8 = false, v_s8 = false, shares_s8 = false, y_s8 = false;
  s64 zero_q = 0, zero_k = 0, zero_v = 0, zero_shares = 0, zero_y = 0;
  f32 score = 1e-5f;          // of a product of codes
  f32 share = 1.0f / 255.0f;  // of a code
  MaskKind mask = MaskKind::none;
  s64 hidden =
      0;  // of the value that queries, keys and values are products of; 0: they come from outside
  Packed packed = Packed::no;  // of one sign, as many queries as keys, from outside
  s64 shares_apart = 0,
      operands_apart = 0;  // what zero points differ by where codes made inside are read

  std::string text() const {
    return fmt::format(
        "{}x{} heads of {}, {} queries, {} keys, signs {}{}{}{}{}, zero points {} {} {} {} {}, "
        "scales {} {}, mask {}, hidden {}, packed {}",
        batch, heads, size, queries, keys, q_s8, k_s8, v_s8, shares_s8, y_s8, zero_q, zero_k,
        zero_v, zero_shares, zero_y, score, share, static_cast<int>(mask), hidden,
        static_cast<int>(packed));
  }
};

class AttentionGraph : public CodesGraph {
 public:
  AttentionGraph(const AttentionCase& c, u32 seed) : CodesGraph(seed), case_(c) {
    if (c.hidden > 0) x_ = input("x", {c.batch, c.keys, c.hidden}, c.q_s8);
    if (c.packed != Packed::no) pack();
    const ValueId q = operand("q", c.queries, c.q_s8, c.zero_q);
    const ValueId k = operand("k", c.keys, c.k_s8, c.zero_k);
    const ValueId v = operand("v", c.keys, c.v_s8, c.zero_v);
    const Shape scores{c.batch, c.heads, c.queries, c.keys};
    ValueId last = product("scores", q, k, c.score, {Dtype::f32, scores});
    Attrs& by_keys = graph_.nodes.back().attrs;
    by_keys.set("perm_a", std::vector<s64>{0, 2, 1, 3});
    by_keys.set("perm_b", std::vector<s64>{0, 2, 3, 1});
    const s64 apart = c.hidden > 0 ? c.operands_apart : 0;
    by_keys.set("input_zero_points", std::vector<s64>{c.zero_q + apart, c.zero_k + apart});
    by_keys.set("output_dtype", std::string("f32"));
    if (c.mask != MaskKind::none) last = add_mask(last, scores);
    last = softmax(last, scores);
    last = product("context", last, v, 1.0f / (80.0f * static_cast<f32>(c.share > 0.01f ? 20 : 60)),
                   {codes_of(c.y_s8), {c.batch, c.queries, c.heads, c.size}});
    Attrs& by_values = graph_.nodes.back().attrs;
    by_values.set("perm_b", std::vector<s64>{0, 2, 1, 3});
    by_values.set("perm_y", std::vector<s64>{0, 2, 1, 3});
    by_values.set("input_zero_points",
                  std::vector<s64>{c.zero_shares + c.shares_apart, c.zero_v + apart});
    set_codes(by_values, c.y_s8, c.zero_y);
    graph_.outputs = {last};
  }

 private:
  // The value that the parts are of.
  void pack() {
    const AttentionCase& c = case_;
    const s64 width = c.heads * c.size;
    if (c.packed == Packed::picked) {
      x_ = input("qkv", {3, c.keys, c.batch, width}, c.q_s8);
      return;
    }
    x_ = input("qkv", {c.batch, c.keys, 3 * width}, c.q_s8);
    const TensorType part{codes_of(c.q_s8), {c.batch, c.keys, width}};
    parts_.push_back(node("Split", "split", {x_}, part));
    Node& split = graph_.nodes.back();
    split.attrs.set("axis", s64{2});
    for (const char* name : {"split_k", "split_v"}) {
      parts_.push_back(graph_.add_value(name, part));
      split.outputs.push_back(parts_.back());
    }
  }

  ValueId sized(const char* op, const std::string& name, ValueId x, const Shape& shape) {
    Tensor sizes(Dtype::s64, {shape.rank()});
    for (int d = 0; d < shape.rank(); ++d)
      sizes.mutable_as<s64>()[static_cast<size_t>(d)] = shape[d];
    const ValueId id = graph_.add_constant(name + "_sizes", std::move(sizes));
    return node(op, name, {x, id}, {codes_of(case_.q_s8), shape});
  }

  ValueId turned(const std::string& name, ValueId x, const std::vector<s64>& perm) {
    Shape shape;
    for (const s64 axis : perm) shape.push_back(graph_.value(x).type.shape[static_cast<int>(axis)]);
    const ValueId y = node("Transpose", name, {x}, {codes_of(case_.q_s8), shape});
    graph_.nodes.back().attrs.set("perm", perm);
    return y;
  }

  ValueId part(const std::string& name, s64 index) {
    const AttentionCase& c = case_;
    const s64 tokens = c.keys, width = c.heads * c.size;
    if (c.packed == Packed::split)
      return sized("Reshape", name, parts_[static_cast<size_t>(index)],
                   {c.batch, tokens, c.heads, c.size});
    const ValueId at = graph_.add_constant(name + "_at", Tensor::of<s64>({}, {{index}}));
    ValueId x =
        node("Gather", name + "_picked", {x_, at}, {codes_of(c.q_s8), {tokens, c.batch, width}});
    x = sized("Reshape", name + "_rows", x, {tokens, c.batch * c.heads, c.size});
    x = turned(name + "_turned", x, {1, 0, 2});
    x = sized("Reshape", name + "_heads", x, {c.batch, c.heads, tokens, c.size});
    return turned(name, x, {0, 2, 1, 3});
  }

  ValueId operand(const std::string& name, s64 tokens, bool is_signed, s64 zero_point) {
    const AttentionCase& c = case_;
    if (c.packed != Packed::no) return part(name, name == "q" ? 0 : name == "k" ? 1 : 2);
    const Shape heads{c.batch, tokens, c.heads, c.size};
    if (c.hidden == 0) return input(name, heads, is_signed);
    const s64 width = c.heads * c.size;
    Tensor weights(Dtype::s8, {c.hidden, width}), bias(Dtype::s32, {width});
    Tensor multipliers(Dtype::f32, {width}), sizes(Dtype::s64, {4});
    for (s8& w : weights.mutable_as<s8>()) w = static_cast<s8>(random_() % 255 - 127);
    for (s32& b : bias.mutable_as<s32>()) b = static_cast<s32>(random_() % 6000) - 3000;
    for (f32& m : multipliers.mutable_as<f32>())
      m = (0.5f + 0.001f * static_cast<f32>(random_() % 1000)) / 1024.0f;
    for (size_t i = 0; i < 4; ++i) sizes.mutable_as<s64>()[i] = heads[static_cast<int>(i)];
    const ValueId result = node("QMatMul", name,
                                {x_, graph_.add_constant(name + "_w", std::move(weights)),
                                 graph_.add_constant(name + "_b", std::move(bias)),
                                 graph_.add_constant(name + "_m", std::move(multipliers))},
                                {codes_of(is_signed), {c.batch, tokens, width}});
    Attrs& attrs = graph_.nodes.back().attrs;
    attrs.set("input_zero_points", std::vector<s64>{c.zero_q});
    set_codes(attrs, is_signed, zero_point);
    const ValueId shape = graph_.add_constant(name + "_sizes", std::move(sizes));
    return node("Reshape", name + "_heads", {result, shape}, {codes_of(is_signed), heads});
  }

  void set_codes(Attrs& attrs, bool is_signed, s64 zero_point) {
    const CodeRange range = code_range(codes_of(is_signed));
    attrs.set("output_dtype", std::string(is_signed ? "s8" : "u8"));
    attrs.set("output_zero_point", zero_point);
    attrs.set("lo", s64{range.lo}), attrs.set("hi", s64{range.hi});
  }

  ValueId node(const char* op, const std::string& name, std::vector<ValueId> inputs,
               TensorType type) {
    Node node;
    node.op = find_op(op);
    node.name = name;
    node.inputs = std::move(inputs);
    const ValueId result = graph_.add_value(name + "_y", type);
    node.outputs = {result};
    graph_.nodes.push_back(std::move(node));
    return result;
  }

  ValueId product(const char* name, ValueId a, ValueId b, f32 multiplier, const TensorType& type) {
    Tensor scale(Dtype::f32, {1});
    scale.mutable_as<f32>()[0] = multiplier;
    const ValueId m = graph_.add_constant(std::string(name) + "_m", std::move(scale));
    return node("QMatMul", name, {a, b, kNoValue, m}, type);
  }

  ValueId softmax(ValueId x, const Shape& shape) {
    const ValueId y = node("QSoftmax", "softmax", {x}, {codes_of(case_.shares_s8), shape});
    Attrs& attrs = graph_.nodes.back().attrs;
    attrs.set("axis", s64{-1});
    attrs.set("scales", std::vector<f32>{1.0f, case_.share});
    set_codes(attrs, case_.shares_s8, case_.zero_shares);
    return y;
  }

  // Some keys are taken away from a query as exporters do it, in a row all of them.
  ValueId add_mask(ValueId scores, const Shape& shape) {
    const AttentionCase& c = case_;
    if (c.mask == MaskKind::windows) return add_windows(scores, shape);
    const bool matrix =
        c.mask == MaskKind::matrix || c.mask == MaskKind::hidden || c.mask == MaskKind::any;
    const s64 images = matrix || c.mask == MaskKind::any_keys ? c.batch : 1;
    Tensor mask(Dtype::f32, {images, 1, matrix ? c.queries : 1, c.keys});
    const f32 least = c.mask == MaskKind::hidden ? -std::numeric_limits<f32>::infinity() : -1e4f;
    const auto values = mask.mutable_as<f32>();
    for (size_t i = 0; i < values.size(); ++i) {
      const bool first_row = c.mask == MaskKind::hidden && static_cast<s64>(i) < c.keys;
      values[i] = first_row || random_() % 4 == 0 ? least : 0.0f;
      if (c.mask == MaskKind::any || c.mask == MaskKind::any_keys)
        values[i] = any_number(static_cast<s64>(i) / c.keys);
    }
    const ValueId id = c.mask == MaskKind::constant ? graph_.add_constant("mask", std::move(mask))
                                                    : input("mask", std::move(mask));
    const bool first = random_() % 2 == 0;
    return node("Add", "masked", {first ? id : scores, first ? scores : id}, {Dtype::f32, shape});
  }

  ValueId with_batch(const char* name, ValueId x, const Shape& shape) {
    Tensor sizes(Dtype::s64, {shape.rank()});
    for (int d = 0; d < shape.rank(); ++d)
      sizes.mutable_as<s64>()[static_cast<size_t>(d)] = shape[d];
    const ValueId id = graph_.add_constant(std::string(name) + "_sizes", std::move(sizes));
    return node("Reshape", name, {x, id}, {Dtype::f32, shape});
  }

  ValueId add_windows(ValueId scores, const Shape& shape) {
    const AttentionCase& c = case_;
    const Shape parted{c.batch / 2, 2, c.heads, c.queries, c.keys};
    Tensor mask(Dtype::f32, {1, 2, c.heads, c.queries, c.keys});
    for (f32& value : mask.mutable_as<f32>())
      value = 0.01f * static_cast<f32>(random_() % 200) - (random_() % 4 == 0 ? 100.0f : 0.0f);
    const ValueId windows = with_batch("windows", scores, parted);
    const ValueId masked =
        node("Add", "masked", {windows, graph_.add_constant("mask", std::move(mask))},
             {Dtype::f32, parted});
    return with_batch("joined", masked, shape);
  }

  // Powers of some are no normal numbers. Every third row has what makes all of its shares NaN.
  f32 any_number(s64 row) {
    constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
    constexpr f32 kUsual[] = {0.0f,    0.0f,    -2.5f,   -86.0f, -88.0f,   -95.0f,     -100.0f,
                              -103.0f, -104.0f, -104.5f, 3.0f,   -3.4e38f, -kInfinity, 0x1p-140f};
    constexpr f32 kFatal[] = {std::numeric_limits<f32>::quiet_NaN(), kInfinity, -kInfinity};
    if (row % 3 == 2 && (row % 9 == 8 || random_() % 7 == 0)) return kFatal[row / 3 % 3];
    return kUsual[random_() % std::size(kUsual)];
  }

  const AttentionCase case_;
  ValueId x_ = kNoValue;
  std::vector<ValueId> parts_;
};

template <class T, size_t N>
T any(std::mt19937& random, const T (&values)[N]) {
  return values[random() % N];
}

AttentionCase random_case(std::mt19937& random, bool small) {
  constexpr s64 kTokens[] = {1, 16, 65, 130, 197, 384, 385, 512, 700};
  constexpr s64 kSmallTokens[] = {1, 17, 48, 64, 70, 130};
  constexpr s64 kSizes[] = {16, 32, 48, 64, 80, 128};
  constexpr f32 kScores[] = {1e-5f, 1.0f / 32768.0f, 1e-3f, 0.01f};
  constexpr f32 kShares[] = {1.0f / 255.0f, 0.00390625f, 1e-4f, 0.0009765625f};
  constexpr MaskKind kMasks[] = {MaskKind::none,   MaskKind::none,     MaskKind::none,
                                 MaskKind::keys,   MaskKind::matrix,   MaskKind::constant,
                                 MaskKind::hidden, MaskKind::constant, MaskKind::none,
                                 MaskKind::any,    MaskKind::any_keys};
  AttentionCase c;
  c.batch = any(random, {1, 2, 3}), c.heads = any(random, {1, 2, 3});
  c.queries = small ? any(random, kSmallTokens) : any(random, kTokens);
  c.keys = random() % 2 ? c.queries : small ? any(random, kSmallTokens) : any(random, kTokens);
  c.size = any(random, kSizes);
  const auto zero = [&](bool is_signed) {
    return random() % 3 == 0 ? s64{0} : is_signed ? s64{-19} : s64{131};
  };
  c.q_s8 = random() % 2, c.k_s8 = random() % 2, c.v_s8 = random() % 2;
  c.shares_s8 = random() % 4 == 0, c.y_s8 = random() % 2;
  c.zero_q = zero(c.q_s8), c.zero_k = zero(c.k_s8), c.zero_v = zero(c.v_s8);
  c.zero_shares = c.shares_s8 ? -128 : random() % 4 == 0 ? 7 : 0;
  c.zero_y = zero(c.y_s8);
  if (random() % 3 == 0) {
    c.queries = c.keys;
    c.hidden = any(random, {32, 80, 192});
    c.size = c.size <= 32 ? 32 : 64;  // whole tiles of columns
  }
  if (c.hidden == 0 && random() % 3 == 0) {
    c.queries = c.keys;
    c.k_s8 = c.v_s8 = c.q_s8;
    c.zero_k = zero(c.q_s8), c.zero_v = zero(c.q_s8);
    c.packed = random() % 2 ? Packed::picked : Packed::split;
  }
  c.score = any(random, kScores), c.share = any(random, kShares), c.mask = any(random, kMasks);
  return c;
}

constexpr int kSlices = 6;  // tests of their own, which processes may share

class GpuAttention : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Slices, GpuAttention, testing::Range(0, kSlices));

TEST_P(GpuAttention, EveryKernelGivesTheBytesOfTheCpu) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const bool emulated = is_emulated(*device);
  const int count = case_count(emulated ? 6 : 60);
  const Target target = make_target(device->name(), 1, nullptr);
  std::vector<std::string> kernels;
  for (int i = GetParam(); i < count; i += kSlices) {
    std::mt19937 random(static_cast<u32>(i));
    const AttentionCase c = random_case(random, emulated);
    const AttentionGraph graph(c, static_cast<u32>(i) + 1000);
    // One node where a kernel takes all of them.
    const Plan plan = make_plan(graph.graph(), graph.shapes(), target);
    const size_t last = plan.graph.nodes.size() - 1;
    expect_cpu_bytes(graph.graph(), last, graph.inputs(), fmt::format("case {}: {}", i, c.text()),
                     kernels);
  }
  const auto together = std::ranges::count_if(
      kernels, [](const std::string& kernel) { return kernel.starts_with("attention"); });
  const auto joined = std::ranges::count_if(
      kernels, [](const std::string& kernel) { return kernel.find("_of_") != kernel.npos; });
  std::printf("%d of %d kernels run all of it, %d its operands too\n", static_cast<int>(together),
              static_cast<int>(kernels.size()), static_cast<int>(joined));
  if (!kernels.empty() &&
      (emulated || count >= 10 * kSlices)) {  // one case alone may have no such kernel
    EXPECT_GT(together, 0);
  }
}

// Of masks that hold any numbers, and of rows that hide every key.
TEST(GpuSelfAttention, MasksOfAnyNumbers) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  for (const MaskKind mask : {MaskKind::any, MaskKind::any_keys}) {
    for (const s64 keys : {48, 97, 130}) {
      const DearChains whatever_they_cost;
      const AttentionCase c{
          .batch = 4, .queries = 20, .keys = keys, .k_s8 = true, .score = 1e-4f, .mask = mask};
      const AttentionGraph graph(c, 17);
      const Target target = make_target(device->name(), 1, nullptr);
      const size_t last = make_plan(graph.graph(), graph.shapes(), target).graph.nodes.size() - 1;
      std::vector<std::string> kernels;
      expect_cpu_bytes(graph.graph(), last, graph.inputs(), c.text(), kernels);
      if (device->level() == "sm_90a") {
        EXPECT_TRUE(std::ranges::any_of(kernels, [](const std::string& kernel) {
          return kernel.starts_with("attention_");
        })) << c.text();
      }
    }
  }
}

// Swin's: the Reshapes around the sum are no steps, whatever makes the operands.
TEST(GpuSelfAttention, WindowsOfAnImageHaveMasksOfTheirOwn) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const Target target = make_target(device->name(), 1, nullptr);
  const AttentionCase plain{
      .batch = 6, .heads = 3, .queries = 49, .keys = 49, .score = 1e-4f, .mask = MaskKind::windows};
  AttentionCase behind = plain, picked = plain, split = plain;
  behind.hidden = 96, picked.packed = Packed::picked, split.packed = Packed::split;
  for (const AttentionCase& c : {plain, behind, picked, split}) {
    const DearChains whatever_they_cost;
    const AttentionGraph graph(c, 29);
    const Plan plan = make_plan(graph.graph(), graph.shapes(), target);
    std::vector<std::string> kernels;
    expect_cpu_bytes(graph.graph(), plan.graph.nodes.size() - 1, graph.inputs(), c.text(), kernels);
    if (device->level() != "sm_90a") continue;
    EXPECT_EQ(plan.graph.nodes.size(), 1u) << c.text();
  }
}

// Of all rows, of some, and of none the largest share is beyond the codes.
TEST(GpuSelfAttention, SharesBeyondTheCodes) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const Target target = make_target(device->name(), 1, nullptr);
  for (const f32 share : {2e-5f, 9e-5f, 1.5e-4f, 1e-3f}) {
    for (const bool is_signed : {false, true}) {
      const DearChains whatever_they_cost;
      const AttentionCase c{.queries = 70,
                            .keys = 130,
                            .k_s8 = true,
                            .shares_s8 = is_signed,
                            .zero_shares = is_signed ? -128 : 0,
                            .score = 3e-5f,
                            .share = share};
      const AttentionGraph graph(c, 23);
      const size_t last = make_plan(graph.graph(), graph.shapes(), target).graph.nodes.size() - 1;
      std::vector<std::string> kernels;
      expect_cpu_bytes(graph.graph(), last, graph.inputs(), c.text(), kernels);
    }
  }
}

// A model may quantize with one zero point and dequantize with another.
TEST(GpuSelfAttention, ZeroPointsThatContradict) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const AttentionCase plain{.heads = 1, .queries = 48, .keys = 48, .share = 1e-4f, .hidden = 32};
  AttentionCase shares = plain, operands = plain;
  shares.shares_apart = 5, operands.operands_apart = 3;
  for (const AttentionCase& c : {shares, operands}) {
    const DearChains whatever_they_cost;
    const AttentionGraph graph(c, 11);
    const Target target = make_target(device->name(), 1, nullptr);
    const size_t last = make_plan(graph.graph(), graph.shapes(), target).graph.nodes.size() - 1;
    std::vector<std::string> kernels;
    expect_cpu_bytes(graph.graph(), last, graph.inputs(), c.text(), kernels);
  }
}

TEST(GpuSelfAttention, ItsOperandsAreOneProduct) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  if (device->level() != "sm_90a") GTEST_SKIP() << "no such kernel";
  const DearChains whatever_they_cost;
  const AttentionGraph graph({.queries = 64, .keys = 64, .size = 64, .hidden = 192}, 7);
  const Plan plan =
      make_plan(graph.graph(), graph.shapes(), make_target(device->name(), 1, nullptr));
  EXPECT_TRUE(std::ranges::any_of(plan.steps, [](const PlanStep& step) {
    return step.kernel.find("_of_conv_wgmma") != std::string::npos;
  }));
}

// What picks and turns its operands is no step.
TEST(GpuPackedAttention, OperandsAreReadWhereTheyLay) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  if (device->level() != "sm_90a") GTEST_SKIP() << "no such kernel";
  for (const Packed packed : {Packed::picked, Packed::split}) {
    for (const bool is_signed : {false, true}) {
      const AttentionCase c{.batch = 2,
                            .heads = 3,
                            .queries = 50,
                            .keys = 50,
                            .size = 48,
                            .q_s8 = is_signed,
                            .k_s8 = is_signed,
                            .v_s8 = is_signed,
                            .zero_q = 3,
                            .zero_k = 5,
                            .zero_v = 7,
                            .packed = packed};
      const AttentionGraph graph(c, 13);
      const Plan plan =
          make_plan(graph.graph(), graph.shapes(), make_target(device->name(), 1, nullptr));
      EXPECT_EQ(plan.graph.nodes.size(), 1u) << c.text();
      std::vector<std::string> kernels;
      expect_cpu_bytes(graph.graph(), plan.graph.nodes.size() - 1, graph.inputs(), c.text(),
                       kernels);
    }
  }
}

// With so many heads that each has one block, which loads and publishes the queries of a second tile and a third.
TEST(GpuSelfAttention, BlocksTakeTileAfterTile) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  if (device->level() != "sm_90a") GTEST_SKIP() << "no such kernel";
  const DearChains whatever_they_cost;  // of keys as few as these
  const s64 multiprocessors = static_cast<const cuda::CudaDevice&>(*device).chip().multiprocessors;
  const AttentionGraph graph(
      {.batch = multiprocessors, .heads = 4, .queries = 150, .keys = 20, .size = 32}, 5);
  const Plan plan =
      make_plan(graph.graph(), graph.shapes(), make_target(device->name(), 1, nullptr));
  const size_t last = plan.graph.nodes.size() - 1;
  std::vector<std::string> kernels;
  expect_cpu_bytes(graph.graph(), last, graph.inputs(), "one block each", kernels);
  s64 of_one_block = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.device == kHost || step.candidate.prepare == nullptr) continue;
    for (const Preparation& preparation : step.candidate.prepare(placements(plan, step)))
      of_one_block += preparation.key.find(" tile.parts=1 ") != std::string::npos;
  }
  EXPECT_GT(of_one_block, 0);
}

}  // namespace
}  // namespace octet::test
