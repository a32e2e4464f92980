// SPDX-License-Identifier: Apache-2.0
// Runs over the caller's memory, and engines from bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>

#include "core/error_testing.h"
#include "core/file.h"
#include "graph/text.h"
#include "octet/engine.h"
#include "ops/registry.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using testing::HasSubstr;

// Real and integer inputs, sums and tables, rows that no vector's width divides.
constexpr std::string_view kGraph = R"(graph "g"(%x: f32[?,3,5], %q: u8[?,7]) {
  const %w: f32[5,3] = {1, -2, 3, -4, 5, -6, 7, -8, 9, 10, -11, 12, 13, -14, 15}
  const %s: f32[] = {0.5}
  const %z: u8[] = {3}
  %y: f32[?,3,3] = MatMul(%x, %w) name "product"
  %r: f32[?,3,3] = Relu(%y) name "relu"
  %d: f32[?,7] = DequantizeLinear(%q, %s, %z) name "real"
  return %r, %d
})";

Engine engine() {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(kGraph, find_op);
  return Inside::engine(std::move(model));
}

std::vector<Tensor> samples(s64 batch) {
  Tensor x(Dtype::f32, {batch, 3, 5}), q(Dtype::u8, {batch, 7});
  f32 next = -7;
  for (f32& value : x.mutable_as<f32>()) value = next += 1.25f;
  u8 code = 250;
  for (u8& value : q.mutable_as<u8>()) value = ++code;
  return {x, q};
}

void expect_equal(const Tensor& expected, const Tensor& got) {
  ASSERT_EQ(expected.type(), got.type());
  EXPECT_EQ(std::memcmp(expected.data(), got.data(), expected.bytes()), 0);
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(view_of(tensor));
  return views;
}

// Memory that ends where a page that nobody may touch begins.
class GuardedBytes {
 public:
  explicit GuardedBytes(const Tensor& tensor) {
    const size_t pages = (tensor.bytes() + kPage - 1) / kPage + 1;
    size_ = pages * kPage;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + size_ - kPage, kPage, PROT_NONE);
    view_ = {tensor.type(), base_ + size_ - kPage - tensor.bytes(), {}, "cpu"};
    std::memcpy(view_.data, tensor.data(), tensor.bytes());
  }
  ~GuardedBytes() { munmap(base_, size_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  const MutableTensorView& view() const { return view_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t size_;
  std::byte* base_;
  MutableTensorView view_;
};

TEST(Views, RunAsTensorsDo) {
  Context context = engine().make_context();
  const std::vector<Tensor> inputs = samples(2);
  const std::vector<Tensor> expected = context.run(inputs);
  const std::vector<Tensor> got = context.run(views_of(inputs));
  expect_equal(expected[0], got[0]);
  expect_equal(expected[1], got[1]);
}

TEST(Views, DenseMemoryIsUsedInPlaceAndNothingBeyondIt) {
  Context context = engine().make_context();
  for (s64 batch : {1, 3}) {
    const std::vector<Tensor> inputs = samples(batch);
    const std::vector<Tensor> expected = context.run(inputs);
    const GuardedBytes x(inputs[0]), q(inputs[1]), r(expected[0]), d(expected[1]);
    std::memset(r.view().data, 0, expected[0].bytes());
    const std::vector<TensorView> in = {x.view(), q.view()};
    const std::vector<MutableTensorView> out = {r.view(), d.view()};
    context.run_into(in, out);
    expect_equal(expected[0], to_tensor(r.view()));
    expect_equal(expected[1], to_tensor(d.view()));
  }
}

// Codes come as they are; a convolution turns them into its own layout.
TEST(Views, CodesAreReadToTheirLastByte) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(R"(graph "g"(%x: u8[?,4,5,5]) {
  const %w: s8[2,4,1,1] = {1, -2, 3, -4, 5, -6, 7, -8}
  const %m: f32[2] = {0.02, 0.05}
  %y: u8[?,2,5,5] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[0, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=7} name "conv"
  return %y
})",
                             find_op);
  Context context = Inside::context(std::move(model));
  for (s64 batch : {1, 2}) {
    Tensor x(Dtype::u8, {batch, 4, 5, 5});
    u8 code = 0;
    for (u8& value : x.mutable_as<u8>()) value = code += 37;
    const std::vector<Tensor> expected = context.run(std::vector<Tensor>{x});
    const GuardedBytes guarded(x);
    const std::vector<TensorView> in = {guarded.view()};
    expect_equal(expected[0], context.run(in)[0]);
  }
}

TEST(Views, StridedAndMisalignedMemoryIsCopied) {
  Context context = engine().make_context();
  const std::vector<Tensor> inputs = samples(2);
  const std::vector<Tensor> expected = context.run(inputs);
  // x at an odd address, q with a gap after each row; the first output is wanted transposed.
  std::vector<std::byte> odd(inputs[0].bytes() + 1), gaps(2 * 10);
  std::vector<f32> transposed(18, -1);
  const MutableTensorView x{inputs[0].type(), odd.data() + 1, {}, "cpu"};
  const MutableTensorView q{inputs[1].type(), gaps.data(), Strides{10, 1}, "cpu"};
  copy(view_of(inputs[0]), x);
  copy(view_of(inputs[1]), q);
  MutableTensorView r = view_of(std::span(transposed), {2, 3, 3});
  r.strides = Strides{9, 1, 3};
  Tensor d(Dtype::f32, {2, 7});
  const std::vector<TensorView> in = {x, q};
  const std::vector<MutableTensorView> out = {r, view_of(d)};
  for (int run = 0; run < 2; ++run) {
    context.run_into(in, out);
    expect_equal(expected[0], to_tensor(r));
    expect_equal(expected[1], d);
  }
}

TEST(Views, WhatTheContextCannotReachIsOneError) {
  Context context = engine().make_context();
  const std::vector<Tensor> inputs = samples(1);
  const std::vector<TensorView> good = views_of(inputs);
  std::vector<TensorView> wrong = good;
  wrong[1].device = "cuda:0";
  EXPECT_THAT(test::error_of([&] { context.run(wrong); }),
              HasSubstr("input 'q' lies in memory of 'cuda:0', which this context has not"));
  wrong = good;
  wrong[0].data = nullptr;
  EXPECT_THAT(test::error_of([&] { context.run(wrong); }),
              HasSubstr("input 'x' is given as f32[1,3,5]"));
  wrong = good;
  wrong[0].type.shape[0] = Shape::kDynamic;
  EXPECT_THAT(test::error_of([&] { context.run(wrong); }), HasSubstr("needs its sizes"));
  wrong = good;
  wrong.pop_back();
  EXPECT_THAT(test::error_of([&] { context.run(wrong); }), HasSubstr("has 2 inputs, got 1"));
  std::vector<Tensor> outputs = context.run(good);
  std::vector<MutableTensorView> out = {view_of(outputs[0]), view_of(outputs[1])};
  out[0].device = "test";
  EXPECT_THAT(test::error_of([&] { context.run_into(good, out); }),
              HasSubstr("output 'r' lies in"));
  out[0] = view_of(outputs[0]);
  out[0].strides = Strides{9, 3, 0};
  EXPECT_THAT(test::error_of([&] { context.run_into(good, out); }), HasSubstr("share memory"));
}

TEST(EngineBytes, AreThoseOfTheFile) {
  const Engine built = engine();
  const auto path = std::filesystem::temp_directory_path() / "octet_view_test.octet";
  built.save(path);
  const std::vector<u8> file = read_file(path, 1 << 20);
  std::filesystem::remove(path);
  const std::vector<std::byte> bytes = built.to_bytes();
  ASSERT_EQ(file.size(), bytes.size());
  EXPECT_EQ(std::memcmp(file.data(), bytes.data(), bytes.size()), 0);

  // Read from an odd address: the engine keeps its own copy.
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::ranges::copy(bytes, shifted.begin() + 1);
  const Engine loaded = Engine::load(std::span(shifted).subspan(1));
  std::ranges::fill(shifted, std::byte{0});
  const std::vector<Tensor> inputs = samples(2);
  expect_equal(built.make_context().run(inputs)[0], loaded.make_context().run(inputs)[0]);
  EXPECT_EQ(loaded.to_bytes(), bytes);
}

TEST(EngineBytes, DamagedOnesAreNamed) {
  std::vector<std::byte> bytes = engine().to_bytes();
  const auto load = [&] {
    try {
      Engine::load(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_model);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  bytes.back() ^= std::byte{1};
  EXPECT_THAT(load(), HasSubstr("bytes from memory"));
  bytes.clear();
  EXPECT_THAT(load(), HasSubstr("an empty file"));
}

}  // namespace
}  // namespace octet
