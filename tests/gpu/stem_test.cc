// SPDX-License-Identifier: Apache-2.0
// The front of networks on a GPU in one kernel: an image becomes codes, is convolved and perhaps pooled, with the CPU's bytes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include "backends/backends.h"
#include "fine_lines.h"
#include "graph/interpret.h"
#include "one_node.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "plan/chain_testing.h"

namespace octet::test {
namespace {

struct StemCase {
  s64 batch = 1, channels = 3, height = 20, width = 20, outputs = 16;
  s64 kernel = 3, pad = 1;
  s64 wider = 0;      // than high
  s64 pool_pad = -1;  // no pool
  bool ceil_mode = false;
  bool x_s8 = false, y_s8 = false, table = false, leaky = false, fine = false;
  s64 zero_x = 0, zero_y = 0;
  f32 scale = 0.021f;

  s64 out_height() const { return (height + 2 * pad - kernel) / 2 + 1; }
  s64 out_width() const { return (width + 2 * pad - kernel - wider) / 2 + 1; }
  bool pooled() const { return pool_pad >= 0; }
  s64 pooled(s64 in) const { return (in + 2 * pool_pad - 3 + (ceil_mode ? 1 : 0)) / 2 + 1; }
  std::string text() const {
    return fmt::format(
        "{}x{}x{}x{} -> {}, kernel {}+{}, pad {}, pool {}{}{}{}{}{}, zero points {} {}, scale {}",
        batch, channels, height, width, outputs, kernel, wider, pad, pool_pad,
        ceil_mode ? " ceil" : "", x_s8 ? ", s8" : "", y_s8 ? " to s8" : "",
        fine    ? ", lines"
        : table ? ", table"
                : "",
        leaky ? ", leaky" : "", zero_x, zero_y, scale);
  }
};

class StemGraph {
 public:
  StemGraph(const StemCase& c, u32 seed) : case_(c), random_(seed) {
    const Shape image{c.batch, c.channels, c.height, c.width};
    const Shape y{c.batch, c.outputs, c.out_height(), c.out_width()};
    const Dtype x_codes = c.x_s8 ? Dtype::s8 : Dtype::u8, y_codes = c.y_s8 ? Dtype::s8 : Dtype::u8;
    const ValueId x = graph_.add_value("x", {Dtype::f32, image});
    graph_.inputs = {x};
    inputs_.push_back(picture(image));
    const ValueId codes = graph_.add_value("codes", {x_codes, image});
    add("QuantizeLinear", {x, scalar("scale", c.scale), zero_point(x_codes)}, codes);
    const ValueId sums = graph_.add_value("y", {c.table && !c.fine ? Dtype::u8 : y_codes, y});
    Node& conv = add("QConv", {codes, weights(), biases(), multipliers()}, sums);
    set_conv(conv.attrs);
    if (c.table) {
      conv.inputs.resize(kProductTable, kNoValue);
      conv.inputs.push_back(c.fine ? lines(conv.attrs) : constant<u8>("table", {256}, [&] {
        return static_cast<u8>(random_());
      }));
    }
    graph_.outputs = {sums};
    if (c.pooled()) add_pool(sums, y);
  }

  Graph& graph() { return graph_; }
  std::span<const Tensor> inputs() const { return inputs_; }

 private:
  Node& add(const char* op, std::vector<ValueId> inputs, ValueId output) {
    Node node;
    node.op = find_op(op);
    node.name = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back();
  }

  ValueId lines(Attrs& attrs) {
    const CodeRange range = code_range(case_.y_s8 ? Dtype::s8 : Dtype::u8);
    attrs.set("fine_zero_point", s64{30001});
    return graph_.add_constant("lines", random_lines(random_, Lines::beyond, range.lo, range.hi));
  }

  void set_conv(Attrs& attrs) {
    const StemCase& c = case_;
    attrs.set("pads", std::vector<s64>{c.pad, c.pad, c.pad, c.pad});
    attrs.set("strides", std::vector<s64>{2, 2});
    attrs.set("dilations", std::vector<s64>{1, 1});
    attrs.set("group", s64{1});
    attrs.set("input_zero_points", std::vector<s64>{c.zero_x, 0, 0, 0});
    attrs.set("output_dtype", std::string(c.y_s8 ? "s8" : "u8"));
    attrs.set("output_zero_point", c.zero_y);
    const CodeRange range = code_range(c.y_s8 ? Dtype::s8 : Dtype::u8);
    attrs.set("lo", s64{random_() % 3 == 0 ? range.lo + 7 : range.lo});
    attrs.set("hi", s64{random_() % 3 == 0 ? range.hi - 20 : range.hi});
    if (!c.leaky) return;
    attrs.set("activation", std::string("leaky_relu"));
    attrs.set("activation_alpha", 0.125f);
  }

  void add_pool(ValueId from, const Shape& y) {
    const StemCase& c = case_;
    const Shape shape{c.batch, c.outputs, c.pooled(y[2]), c.pooled(y[3])};
    const ValueId result = graph_.add_value("pooled", {graph_.value(from).type.dtype, shape});
    Attrs& attrs = add("MaxPool", {from}, result).attrs;
    attrs.set("kernel_shape", std::vector<s64>{3, 3});
    attrs.set("strides", std::vector<s64>{2, 2});
    attrs.set("pads", std::vector<s64>{c.pool_pad, c.pool_pad, c.pool_pad, c.pool_pad});
    attrs.set("ceil_mode", s64{c.ceil_mode});
    graph_.outputs = {result};
  }

  // Ties between codes, what saturates, and what is no number.
  Tensor picture(const Shape& shape) {
    Tensor tensor(Dtype::f32, shape);
    for (f32& v : tensor.mutable_as<f32>()) {
      const f32 code = static_cast<f32>(random_() % 300) - 150.0f;
      v = case_.scale *
          (code + (random_() % 4 == 0 ? 0.5f : 0.001f * static_cast<f32>(random_() % 999)));
    }
    constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
    const f32 odd[] = {kInfinity, -kInfinity, std::numeric_limits<f32>::quiet_NaN(),
                       3e38f,     -0.0f,      1e-41f};
    for (const f32 v : odd)
      tensor.mutable_as<f32>()[random_() % static_cast<size_t>(tensor.elements())] = v;
    return tensor;
  }

  ValueId weights() {
    return constant<s8>("w",
                        {case_.outputs, case_.channels, case_.kernel, case_.kernel + case_.wider},
                        [&] { return static_cast<s8>(random_() % 255 - 127); });
  }
  ValueId biases() {
    return constant<s32>("b", {case_.outputs},
                         [&] { return static_cast<s32>(random_() % 6000) - 3000; });
  }
  ValueId multipliers() {
    const s64 depth = case_.channels * case_.kernel * case_.kernel;
    const f32 spread = (case_.fine ? 5.0f : 0.02f) / std::sqrt(static_cast<f32>(depth));
    return constant<f32>("m", {case_.outputs}, [&] {
      return random_() % 4 == 0 ? std::exp2(std::round(std::log2(spread)))
                                : spread * (0.5f + 0.001f * static_cast<f32>(random_() % 1000));
    });
  }
  ValueId scalar(const char* name, f32 value) {
    return constant<f32>(name, {}, [&] { return value; });
  }
  ValueId zero_point(Dtype codes) {
    if (codes == Dtype::s8)
      return constant<s8>("zero", {}, [&] { return static_cast<s8>(case_.zero_x); });
    return constant<u8>("zero", {}, [&] { return static_cast<u8>(case_.zero_x); });
  }

  template <class T, class Make>
  ValueId constant(const char* name, const Shape& shape, const Make& make) {
    Tensor tensor(DtypeOf<T>::value, shape);
    for (T& value : tensor.mutable_as<T>()) value = make();
    return graph_.add_constant(name, std::move(tensor));
  }

  const StemCase case_;
  std::mt19937 random_;
  Graph graph_;
  std::vector<Tensor> inputs_;
};

class GpuStem : public testing::TestWithParam<int> {};

const StemCase kCases[] = {
    // ResNet's, with two tiles of columns, the second narrow.
    {.batch = 2,
     .height = 21,
     .width = 130,
     .outputs = 64,
     .kernel = 7,
     .pad = 3,
     .pool_pad = 1,
     .zero_x = 114},
    {.batch = 3,
     .height = 23,
     .width = 30,
     .outputs = 40,
     .kernel = 7,
     .pad = 3,
     .pool_pad = 1,
     .x_s8 = true,
     .y_s8 = true,
     .zero_x = -13,
     .zero_y = -128},
    {.height = 40,
     .width = 27,
     .outputs = 64,
     .kernel = 3,
     .pad = 0,
     .pool_pad = 0,
     .ceil_mode = true,
     .leaky = true,
     .zero_x = 7},
    {.batch = 2,
     .channels = 1,
     .height = 19,
     .width = 33,
     .outputs = 32,
     .kernel = 5,
     .pad = 2,
     .pool_pad = 1,
     .zero_x = 128,
     .zero_y = 3},
    // One after another without a pool.
    {.batch = 2, .height = 18, .width = 140, .outputs = 32, .zero_x = 128},
    {.batch = 3, .height = 17, .width = 25, .outputs = 8, .zero_x = 114, .zero_y = 12},
    {.channels = 4,
     .height = 31,
     .width = 22,
     .outputs = 24,
     .kernel = 6,
     .pad = 2,
     .x_s8 = true,
     .zero_x = 0,
     .zero_y = 1},
    {.channels = 1, .height = 12, .width = 9, .outputs = 21, .kernel = 2, .pad = 0, .zero_x = 255},
    {.batch = 2,
     .height = 14,
     .width = 64,
     .outputs = 64,
     .kernel = 5,
     .pad = 2,
     .y_s8 = true,
     .table = true,
     .zero_x = 3},
    {.batch = 2,
     .height = 14,
     .width = 64,
     .outputs = 64,
     .kernel = 5,
     .pad = 2,
     .y_s8 = true,
     .table = true,
     .leaky = true,
     .fine = true,
     .zero_x = 3},
    {.batch = 2,
     .channels = 2,
     .height = 31,
     .width = 40,
     .outputs = 16,
     .kernel = 7,
     .pad = 2,
     .leaky = true,
     .zero_x = 9,
     .scale = 1.0f / 64},
    {.batch = 2, .height = 23, .width = 44, .outputs = 32, .wider = 3, .y_s8 = true, .zero_x = 77},
    // Scales that are divided by.
    {.height = 13,
     .width = 12,
     .outputs = 16,
     .zero_x = 100,
     .scale = std::bit_cast<f32>(0x3cffffffu)},
    {.height = 13, .width = 12, .outputs = 16, .scale = 1e-30f}};
INSTANTIATE_TEST_SUITE_P(Cases, GpuStem, testing::Range(0, static_cast<int>(std::size(kCases))));

TEST_P(GpuStem, GivesTheBytesOfTheCpu) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const StemCase& c = kCases[GetParam()];
  const DearChains whatever_they_cost;  // of images as small as these
  StemGraph stem(c, static_cast<u32>(GetParam()) + 1);
  std::vector<std::string> kernels;
  // The chain is one node, by products of warpgroups or of warps.
  expect_cpu_bytes(stem.graph(), 0, stem.inputs(), c.text(), kernels);
  const bool stems = std::ranges::all_of(
      kernels, [](const std::string& kernel) { return kernel.starts_with("stem_"); });
  EXPECT_TRUE(stems) << c.text();
}

// Codes behind a table do not grow with sums, so they are pooled by themselves.
TEST(GpuStemPool, ATableIsNoPartOfIt) {
  std::string why;
  const Device* device = gpu_device(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const StemCase c{
      .height = 20, .width = 20, .outputs = 16, .pool_pad = 1, .table = true, .zero_x = 5};
  const DearChains whatever_they_cost;
  StemGraph stem(c, 50);
  std::vector<std::string> kernels;
  expect_cpu_bytes(stem.graph(), 1, stem.inputs(), c.text(), kernels);
  EXPECT_TRUE(std::ranges::any_of(kernels, [](const std::string& k) { return k == "max_pool"; }));
}

}  // namespace
}  // namespace octet::test
