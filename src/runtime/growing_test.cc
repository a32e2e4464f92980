// SPDX-License-Identifier: Apache-2.0
// Contexts of decoders whose caches grow: how many plans they make, that they give what plans for each length give, and caches that are continued where they lie.
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

// Views of caches of 40 rows, before and behind the run of one memory.
struct InPlace {
  static constexpr s64 kRows = 40;

  Tensor keys{Dtype::f32, {1, 2, kRows, 4}}, values{Dtype::f32, {1, 2, kRows, 4}};

  static Strides strides() { return {2 * kRows * 4, kRows * 4, 4, 1}; }
  static TensorType type(s64 length) { return {Dtype::f32, {1, 2, length, 4}}; }
};

TEST(GrowingInPlace, CachesAreContinuedWhereTheyLie) {
  Context context = context_of(test::kGrowingReals), each = context_of(test::kGrowingReals);
  Inside::impl(each).grows = false;
  const Graph graph = test::growing_graph(std::string(test::kGrowingReals));
  InPlace caches;
  for (Tensor* cache : {&caches.keys, &caches.values}) {
    for (f32& v : cache->mutable_as<f32>()) v = std::numeric_limits<f32>::quiet_NaN();
  }
  std::vector<Tensor> dense = test::growing_inputs(graph, 1);
  for (size_t i : {size_t{2}, size_t{3}}) {
    Tensor& cache = i == 2 ? caches.keys : caches.values;
    copy(view_of(dense[i]), {InPlace::type(1), cache.mutable_data(), InPlace::strides()});
  }
  for (s64 length = 1; length < InPlace::kRows; ++length) {
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
                                       {behind, caches.values.mutable_data(), InPlace::strides()}});
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
  std::vector<Tensor> dense = test::growing_inputs(graph, 1);
  const TensorType whole{Dtype::f32, {1, 2, InPlace::kRows, 4}};
  std::vector<test::DeviceTensor> caches;
  for (size_t i : {size_t{2}, size_t{3}}) {
    Tensor rows(whole.dtype, whole.shape);
    copy(view_of(dense[i]), {InPlace::type(1), rows.mutable_data(), InPlace::strides()});
    caches.emplace_back(device, rows);
  }
  for (s64 length = 1; length < InPlace::kRows; ++length) {
    std::vector<Tensor> inputs = test::growing_inputs(graph, length);
    inputs[2] = dense[2], inputs[3] = dense[3];
    const std::vector<Tensor> want = each.run(inputs);
    const test::DeviceTensor x(device, inputs[0]), mask(device, inputs[1]);
    const test::DeviceTensor y(device, want[0].type());
    std::vector<TensorView> from = {x.view(), mask.view()};
    std::vector<MutableTensorView> to = {y.view()};
    for (const test::DeviceTensor& cache : caches) {
      from.push_back({InPlace::type(length), cache.view().data, InPlace::strides(), name});
      to.push_back({InPlace::type(length + 1), cache.view().data, InPlace::strides(), name});
    }
    context.run_into(from, to);
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
            {InPlace::type(behind), caches.values.mutable_data(), InPlace::strides()}});
  };
  run(3, 4);
  EXPECT_THROW(run(3, 5), Error);
  EXPECT_THROW(run(3, 3), Error);
  EXPECT_THROW(run(InPlace::kRows, InPlace::kRows), Error);
  run(3, 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, Growing, testing::Values("cpu", "test:1"));

}  // namespace
}  // namespace octet
