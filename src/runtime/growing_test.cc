// SPDX-License-Identifier: Apache-2.0
// Contexts of decoders whose caches grow: how many plans they make, that they give what plans for each length give, and caches that are continued where they lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "backends/backends.h"
#include "backends/test/device.h"
#include "octet/plans.h"
#include "plan/growing_testing.h"
#include "runtime/context.h"
#include "runtime/device_memory_testing.h"
#include "runtime/inside.h"

namespace octet {
namespace {

std::shared_ptr<const Model> model_of(std::string_view text) {
  auto model = std::make_shared<Model>();
  model->graph = test::growing_graph(std::string(text));
  return model;
}

Context context_of(std::string_view text, const char* device = "cpu") {
  ContextOptions options;
  options.device = device;
  return Inside::context(model_of(text), options);
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << what;
}

// The output after each token; caches come back as they were given.
void expect_tokens(Context& context, Context& want, std::string_view text, int count) {
  const Graph graph = test::growing_graph(std::string(text));
  std::vector<Tensor> inputs = test::growing_inputs(graph, 1), others = inputs;
  const size_t caches = inputs.size() - 2;
  for (int token = 0; token < count; ++token) {
    inputs = test::growing_inputs(graph, token + 1);
    if (token > 0) inputs[caches] = others[caches], inputs[caches + 1] = others[caches + 1];
    const std::vector<Tensor> got = context.run(inputs), expected = want.run(inputs);
    for (size_t i = 0; i < got.size(); ++i)
      expect_same(got[i], expected[i], fmt::format("output {} of token {}", i, token));
    others[caches] = got[1], others[caches + 1] = got[2];
    if (testing::Test::HasFailure()) return;
  }
}

constexpr std::string_view kOneHead = R"(graph "g"(%x: f32[1,1,4], %past: f32[1,?,4]) {
  %all: f32[1,?,4] = Concat(%past, %x) {axis=1} name "all"
  return %all
})";

class Growing : public testing::TestWithParam<const char*> {};

// As many positions as the table has for whole steps; codes have no table.
TEST_P(Growing, EachStepOfLengthsTakesOnePlan) {
  struct Case {
    std::string_view text;
    int tokens, plans;
  };
  for (const Case& c : {Case{test::kGrowingReals, 127, 2}, Case{test::kGrowingCodes, 200, 4}}) {
    Context grows = context_of(c.text, GetParam()), each = context_of(c.text, GetParam());
    Inside::impl(each).grows = false;
    expect_tokens(grows, each, c.text, 63);
    EXPECT_EQ(plans_made(grows), 1);
    expect_tokens(grows, each, c.text, c.tokens);
    EXPECT_EQ(plans_made(grows), c.plans);
    expect_tokens(grows, each, c.text, 10);
    EXPECT_EQ(plans_made(grows), c.plans);
  }
}

// Caches of 40 rows, before and behind the run of one memory.
struct InPlace {
  static constexpr s64 kRows = 40;

  Tensor keys{Dtype::f32, {1, 2, kRows, 4}}, values{Dtype::f32, {1, 2, kRows, 4}};

  static Strides strides() { return {2 * kRows * 4, kRows * 4, 4, 1}; }
  static TensorType type(s64 length) { return {Dtype::f32, {1, 2, length, 4}}; }
  static RunOptions promise(s64 rows = kRows) {
    RunOptions options;
    options.cache_rows = rows;
    return options;
  }
};

// A run of the small decoder over views of keys and values, and what it should give.
struct Step {
  explicit Step(s64 rows)
      : graph(test::growing_graph(std::string(test::kGrowingReals))),
        length(rows),
        inputs(test::growing_inputs(graph, rows)) {}

  // Caches begin at `keys` and `values`, and are views of memory with `strides`.
  void run(Context& context, std::byte* keys, std::byte* values, const RunOptions& options,
           const Strides& strides = InPlace::strides()) {
    for (size_t i : {size_t{2}, size_t{3}})
      copy(view_of(inputs[i]), {InPlace::type(length), i == 2 ? keys : values, strides});
    const TensorType past = InPlace::type(length), present = InPlace::type(length + 1);
    context.run_into(
        std::vector<TensorView>{
            view_of(inputs[0]), view_of(inputs[1]), {past, keys, strides}, {past, values, strides}},
        std::vector<MutableTensorView>{
            view_of(y), {present, keys, strides}, {present, values, strides}},
        options);
    got = {y, to_tensor({present, keys, strides}), to_tensor({present, values, strides})};
  }
  void expect_right() {
    Context each = context_of(test::kGrowingReals);
    Inside::impl(each).grows = false;
    const std::vector<Tensor> want = each.run(inputs);
    for (size_t i = 0; i < want.size(); ++i)
      expect_same(got[i], want[i], fmt::format("output {} of length {}", i, length));
  }

  const Graph graph;
  const s64 length;
  const std::vector<Tensor> inputs;
  Tensor y{Dtype::f32, {1, 1, 8}};
  std::vector<Tensor> got;
};

// Elements that a run has no business with hold this.
constexpr f32 kForeign = 77;
Tensor foreign(const Shape& shape) {
  Tensor tensor(Dtype::f32, shape);
  for (f32& v : tensor.mutable_as<f32>()) v = kForeign;
  return tensor;
}

std::string error_of(Step& step, Context& context, std::array<std::byte*, 2> caches,
                     const RunOptions& options) {
  try {
    step.run(context, caches[0], caches[1], options);
  } catch (const Error& error) {
    return std::string(error.message());
  }
  return "";
}

TEST(GrowingInPlace, CachesAreContinuedWhereTheyLie) {
  Context context = context_of(test::kGrowingReals), each = context_of(test::kGrowingReals);
  Inside::impl(each).grows = false;
  const Graph graph = test::growing_graph(std::string(test::kGrowingReals));
  InPlace caches;
  for (Tensor* cache : {&caches.keys, &caches.values}) {
    for (f32& v : cache->mutable_as<f32>()) v = std::numeric_limits<f32>::quiet_NaN();
  }
  std::vector<Tensor> dense = test::growing_inputs(graph, 0);
  for (s64 length = 0; length < InPlace::kRows; ++length) {
    std::vector<Tensor> inputs = test::growing_inputs(graph, length);
    inputs[2] = dense[2], inputs[3] = dense[3];
    const std::vector<Tensor> want = each.run(inputs);
    Tensor y(want[0].dtype(), want[0].shape());
    const auto behind = InPlace::type(length + 1);
    context.run_into(
        std::vector<TensorView>{view_of(inputs[0]),
                                view_of(inputs[1]),
                                {InPlace::type(length), caches.keys.data(), InPlace::strides()},
                                {InPlace::type(length), caches.values.data(), InPlace::strides()}},
        std::vector<MutableTensorView>{view_of(y),
                                       {behind, caches.keys.mutable_data(), InPlace::strides()},
                                       {behind, caches.values.mutable_data(), InPlace::strides()}},
        InPlace::promise());
    expect_same(y, want[0], fmt::format("token {}", length));
    expect_same(to_tensor({behind, caches.keys.data(), InPlace::strides()}), want[1], "keys");
    expect_same(to_tensor({behind, caches.values.data(), InPlace::strides()}), want[2], "values");
    dense[2] = want[1], dense[3] = want[2];
  }
  EXPECT_EQ(plans_made(context), 1);
}

// Memory of a device that the host cannot touch: nothing of the caches crosses.
TEST(GrowingInPlace, InTheMemoryOfADevice) {
  const char* name = "test:1";
  const Device& device = find_device(name);
  Context context = context_of(test::kGrowingReals, name);
  Context each = context_of(test::kGrowingReals, name);
  Inside::impl(each).grows = false;
  const Graph graph = test::growing_graph(std::string(test::kGrowingReals));
  std::vector<Tensor> dense = test::growing_inputs(graph, 0);
  const TensorType whole{Dtype::f32, {1, 2, InPlace::kRows, 4}};
  std::vector<test::DeviceTensor> caches;
  for (int i = 0; i < 2; ++i) caches.emplace_back(device, foreign(whole.shape));
  for (s64 length = 0; length < InPlace::kRows; ++length) {
    std::vector<Tensor> inputs = test::growing_inputs(graph, length);
    inputs[2] = dense[2], inputs[3] = dense[3];
    const std::vector<Tensor> want = each.run(inputs);
    const test::DeviceTensor x(device, inputs[0]), mask(device, inputs[1]);
    const test::DeviceTensor y(device, want[0].type());
    std::vector<TensorView> from = {x.view(), mask.view()};
    std::vector<MutableTensorView> to = {y.view()};
    for (const test::DeviceTensor& cache : caches) {
      // Arrays without elements often have no address, and are of no device.
      from.push_back(length == 0 ? TensorView{InPlace::type(0), nullptr, {}}
                                 : TensorView{InPlace::type(length), cache.view().data,
                                              InPlace::strides(), name});
      to.push_back({InPlace::type(length + 1), cache.view().data, InPlace::strides(), name});
    }
    context.run_into(from, to, InPlace::promise());
    expect_same(y.read(), want[0], fmt::format("token {}", length));
    for (size_t i = 0; i < caches.size(); ++i) {
      const Tensor rows = caches[i].read();
      expect_same(to_tensor({InPlace::type(length + 1), rows.data(), InPlace::strides()}),
                  want[i + 1], fmt::format("cache {} of token {}", i, length));
      dense[i + 2] = want[i + 1];
    }
  }
  EXPECT_EQ(plans_made(context), 1);
}

TEST(GrowingInPlace, ViewsOfOtherSizesThanTheRunsAreRefused) {
  Context context = context_of(test::kGrowingReals);
  const Graph graph = test::growing_graph(std::string(test::kGrowingReals));
  const std::vector<Tensor> inputs = test::growing_inputs(graph, 3);
  InPlace caches;
  Tensor y(Dtype::f32, {1, 1, 8});
  const auto run = [&](s64 before, s64 behind) {
    context.run_into(
        std::vector<TensorView>{view_of(inputs[0]),
                                view_of(inputs[1]),
                                {InPlace::type(before), caches.keys.data(), InPlace::strides()},
                                {InPlace::type(before), caches.values.data(), InPlace::strides()}},
        std::vector<MutableTensorView>{
            view_of(y),
            {InPlace::type(behind), caches.keys.mutable_data(), InPlace::strides()},
            {InPlace::type(behind), caches.values.mutable_data(), InPlace::strides()}},
        InPlace::promise());
  };
  run(3, 4);
  EXPECT_THROW(run(3, 5), Error);
  EXPECT_THROW(run(3, 3), Error);
  EXPECT_THROW(run(InPlace::kRows, InPlace::kRows), Error);
  run(3, 4);
}

// A window into longer memory: without a promise, rows behind the view are somebody else's.
TEST(GrowingInPlace, ViewsMeanWhatTheyShow) {
  Context context = context_of(test::kGrowingReals);
  constexpr s64 kFirst = 5, kLength = 6;
  Tensor keys = foreign({1, 2, InPlace::kRows, 4}), values = foreign(keys.shape());
  const s64 begin = kFirst * 4 * static_cast<s64>(sizeof(f32));
  Step step(kLength);
  step.run(context, keys.mutable_data() + begin, values.mutable_data() + begin, {});
  step.expect_right();
  for (const Tensor& cache : {keys, values}) {
    for (size_t i = 0; i < cache.as<f32>().size(); ++i) {
      const s64 row = static_cast<s64>(i) / 4 % InPlace::kRows;
      const bool shown = row >= kFirst && row <= kFirst + kLength;
      ASSERT_TRUE(shown || cache.as<f32>()[i] == kForeign) << "row " << row;
    }
  }
}

// Keys and values as two parts of one array, [1, 2 heads, key and value, rows, 4].
TEST(GrowingInPlace, TwoCachesInOneArray) {
  Context context = context_of(test::kGrowingReals);
  Tensor both = foreign({1, 2, 2, InPlace::kRows, 4});
  const Strides strides{4 * InPlace::kRows * 4, 2 * InPlace::kRows * 4, 4, 1};
  std::byte* values = both.mutable_data() + InPlace::kRows * 4 * sizeof(f32);
  Step step(6);
  step.run(context, both.mutable_data(), values, {}, strides);
  step.expect_right();
  EXPECT_EQ(both.as<f32>()[7 * 4], kForeign);
  // Heads are 80 rows apart: no buffer of 40 rows, and two of 80 would overlap.
  EXPECT_THROW(step.run(context, both.mutable_data(), values, InPlace::promise(), strides), Error);
  EXPECT_THROW(step.run(context, both.mutable_data(), values, InPlace::promise(80), strides),
               Error);
  EXPECT_EQ(both.as<f32>()[7 * 4], kForeign);
}

TEST(GrowingInPlace, BuffersThatAreNotAsPromisedAreRefused) {
  Context context = context_of(test::kGrowingReals);
  InPlace caches;
  Step step(6);
  std::byte* keys = caches.keys.mutable_data();
  std::byte* values = caches.values.mutable_data();
  using testing::HasSubstr;
  EXPECT_THAT(error_of(step, context, {keys, keys}, InPlace::promise()),
              AllOf(HasSubstr("of output 'keys' overlaps"), HasSubstr("'value")));
  EXPECT_THAT(error_of(step, context, {keys, values}, InPlace::promise(41)),
              HasSubstr("not the first rows of a dense buffer of 41 rows along axis 2"));
  EXPECT_THAT(error_of(step, context, {keys, values}, InPlace::promise(-1)),
              HasSubstr("cache_rows is -1"));
  EXPECT_THAT(error_of(step, context, {keys, values}, InPlace::promise(s64{1} << 40)),
              HasSubstr("expected 1 to"));
  std::vector<TensorView> views;
  EXPECT_THROW(context.run(views, InPlace::promise()), Error);
  EXPECT_EQ(error_of(step, context, {keys, values}, InPlace::promise()), "");
  step.expect_right();
}

// The table of positions has 200 rows: a plan of 300 has no form. Views of the host's memory are copied then, and those of a device refused.
TEST(GrowingInPlace, MoreRowsThanTheModelTakes) {
  Context context = context_of(test::kGrowingReals);
  const Shape shape{1, 2, 300, 4};
  const Strides strides{2 * 300 * 4, 300 * 4, 4, 1};
  Tensor keys = foreign(shape), values = foreign(shape);
  Step step(6);
  for (int i = 0; i < 3; ++i) {
    step.run(context, keys.mutable_data(), values.mutable_data(), InPlace::promise(300), strides);
    step.expect_right();
    EXPECT_EQ(Inside::impl(context).growing.forms_tried(), 2) << "asked again";
  }
  const char* name = "test:1";
  const Device& device = find_device(name);
  Context there = context_of(test::kGrowingReals, name);
  const test::DeviceTensor k(device, keys), v(device, values);
  const TensorType past = InPlace::type(6), present = InPlace::type(7);
  try {
    there.run_into(std::vector<TensorView>{view_of(step.inputs[0]),
                                           view_of(step.inputs[1]),
                                           {past, k.view().data, strides, name},
                                           {past, v.view().data, strides, name}},
                   std::vector<MutableTensorView>{view_of(step.y),
                                                  {present, k.view().data, strides, name},
                                                  {present, v.view().data, strides, name}},
                   InPlace::promise(300));
    ADD_FAILURE() << "a run over rows that the model has not";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.message()),
                testing::AllOf(testing::HasSubstr("cannot be continued"),
                               testing::HasSubstr("run without cache_rows")));
  }
}

// One head and one sequence: strides say nothing of the rows, the promise does.
TEST(GrowingInPlace, OneHead) {
  Context context = context_of(kOneHead);
  std::vector<f32> rows(size_t{InPlace::kRows} * 4, kForeign);
  auto* data = reinterpret_cast<std::byte*>(rows.data());
  for (s64 length = 0; length < InPlace::kRows; ++length) {
    const Tensor x = test::growing_reals({1, 1, 4}, static_cast<u32>(length));
    context.run_into(std::vector<TensorView>{view_of(x), {{Dtype::f32, {1, length, 4}}, data, {}}},
                     std::vector<MutableTensorView>{{{Dtype::f32, {1, length + 1, 4}}, data, {}}},
                     InPlace::promise());
    for (size_t i = 0; i < 4; ++i)
      ASSERT_EQ(rows[static_cast<size_t>(length) * 4 + i], x.as<f32>()[i]) << length;
  }
  EXPECT_EQ(plans_made(context), 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, Growing, testing::Values("cpu", "test:1"));

}  // namespace
}  // namespace octet
