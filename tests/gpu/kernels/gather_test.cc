// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements and GatherND by indices of a run, ScatterND and ScatterElements by constant ones, on the device against the scalar reference; indices outside of the axis are the reference's error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "backends/cuda/lowerings.h"
#include "compile_only.h"
#include "gpu_probe.h"
#include "octet/error.h"

namespace octet {
namespace {

using Case = std::pair<Shape, Shape>;

Tensor bytes(Dtype dtype, const Shape& shape) {
  Tensor x(dtype, shape);
  std::mt19937 random(static_cast<u32>(x.bytes()));
  for (size_t i = 0; i < x.bytes(); ++i)
    x.mutable_data()[i] = static_cast<std::byte>(random() >> 8);
  return x;
}

// The ends of the axis from both sides come first.
Tensor indices(Dtype dtype, const Shape& shape, s64 dim) {
  Tensor tensor(dtype, shape);
  std::mt19937 random(static_cast<u32>(dim));
  const s64 ends[] = {dim - 1, -dim, 0, -1};
  for (s64 i = 0; i < shape.elements(); ++i) {
    const s64 index =
        i < 4 ? ends[i] : static_cast<s64>(random() % static_cast<u32>(2 * dim)) - dim;
    if (dtype == Dtype::s64) {
      tensor.mutable_as<s64>()[static_cast<size_t>(i)] = index;
    } else {
      tensor.mutable_as<s32>()[static_cast<size_t>(i)] = static_cast<s32>(index);
    }
  }
  return tensor;
}

Probe gather(const char* op, Tensor x, Tensor ids, s64 axis) {
  Probe probe{.op = op, .inputs = {activation(std::move(x)), activation(std::move(ids))}};
  probe.attrs.set("axis", axis);
  return probe;
}

constexpr Dtype kTypes[] = {Dtype::u8, Dtype::f16, Dtype::f32, Dtype::s64};

// Each is a kernel that is compiled for it: types take turns. Which operand is constant makes no other kernel.
void expect_gathered(Probe probe, LowerFunction lowering, const std::string& what) {
  expect_exact_on_gpu(probe, lowering, what);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (i == 1 && probe.op == "Gather") continue;  // constant indices are a move
    probe.inputs[i].constant = true;
    expect_exact_on_gpu(probe, lowering, fmt::format("{}, operand {} constant", what, i));
    probe.inputs[i].constant = false;
  }
  for (auto& input : probe.inputs) input.constant = true;
  expect_exact_on_gpu(probe, lowering, what + ", all constant");
}

TEST(GpuGather, EverySizeTypeAndAxis) {
  NEEDS_GPU();
  const Case cases[] = {{{50, 64}, {3, 7}}, {{50, 5}, {4}},   {{7}, {2, 3}},
                        {{3, 9, 4}, {6}},   {{5, 6, 33}, {}}, {{2, 3, 8, 5}, {2, 2}},
                        {{1, 16}, {40}},    {{9, 1}, {1, 5}}};
  u32 number = 0;
  for (const auto& [shape, picked] : cases) {
    for (int axis = 0; axis < shape.rank(); ++axis, ++number) {
      for (const Dtype id : {Dtype::s32, Dtype::s64}) {
        const Dtype dtype = kTypes[number++ % std::size(kTypes)];
        expect_gathered(
            gather("Gather", bytes(dtype, shape), indices(id, picked, shape[axis]),
                   axis - shape.rank()),
            cuda::lower_gather_at_run,
            fmt::format("{} along {} of {}", to_string(picked), axis, to_string(shape)));
      }
    }
  }
}

TEST(GpuGather, Elements) {
  NEEDS_GPU();
  const Case cases[] = {{{50, 64}, {50, 3}},
                        {{50, 5}, {50, 5}},
                        {{7}, {20}},
                        {{3, 9, 4}, {3, 9, 8}},
                        {{2, 3, 8, 5}, {2, 3, 8, 1}}};
  u32 number = 0;
  for (const auto& [shape, picked] : cases) {
    const s64 axis = shape.rank() - 1, dim = shape[shape.rank() - 1];
    for (const Dtype id : {Dtype::s32, Dtype::s64}) {
      const Dtype dtype = kTypes[number++ % std::size(kTypes)];
      expect_gathered(gather("GatherElements", bytes(dtype, shape), indices(id, picked, dim), axis),
                      cuda::lower_gather_elements, to_string(shape));
    }
    ++number;
  }
  const Probe first =
      gather("GatherElements", bytes(Dtype::f32, {6, 5, 3}), indices(Dtype::s64, {11, 5, 3}, 6), 0);
  expect_exact_on_gpu(first, cuda::lower_gather_elements, "the first axis");
  const Probe fewer =
      gather("GatherElements", bytes(Dtype::f32, {6, 5}), indices(Dtype::s64, {3, 5}, 5), 1);
  EXPECT_EQ(run_on_gpu(fewer, cuda::lower_gather_elements).reject,
            "there are fewer indices than elements along another axis");
}

// Each index of a tuple is one of the axis that is shortest.
Probe gather_nd(Dtype dtype, const Shape& x, const Shape& tuples, s64 batch_dims) {
  s64 dim = std::numeric_limits<s64>::max();
  for (s64 k = 0; k < tuples[tuples.rank() - 1]; ++k)
    dim = std::min(dim, x[static_cast<int>(batch_dims + k)]);
  Probe probe{
      .op = "GatherND",
      .inputs = {activation(bytes(dtype, x)), activation(indices(Dtype::s64, tuples, dim))}};
  probe.attrs.set("batch_dims", batch_dims);
  return probe;
}

TEST(GpuGather, Tuples) {
  NEEDS_GPU();
  for (Dtype dtype : {Dtype::u8, Dtype::f32, Dtype::s64}) {
    expect_exact_on_gpu(gather_nd(dtype, {5, 7, 16}, {6, 2}, 0), cuda::lower_gather_nd, "slices");
    expect_exact_on_gpu(gather_nd(dtype, {5, 7, 3}, {4, 9, 3}, 0), cuda::lower_gather_nd,
                        "elements");
    expect_exact_on_gpu(gather_nd(dtype, {3, 7, 5, 4}, {3, 6, 2}, 1), cuda::lower_gather_nd,
                        "a batch");
    expect_exact_on_gpu(gather_nd(dtype, {3, 2, 5}, {3, 2, 8, 1}, 2), cuda::lower_gather_nd,
                        "two axes of a batch");
    expect_exact_on_gpu(gather_nd(dtype, {9, 40}, {1}, 0), cuda::lower_gather_nd, "one");
  }
}

// Updates of one place more than once among them; which operand is constant makes no other kernel.
void expect_assigned(Probe probe, LowerFunction lowering, const std::string& what) {
  for (size_t i = 0; i < 3; ++i) {
    probe.inputs[1].constant = true;
    if (i != 1) probe.inputs[i].constant = true;
    expect_exact_on_gpu(probe, lowering, fmt::format("{}, operand {} constant", what, i));
    probe.inputs[i].constant = false;
  }
}

TEST(GpuAssign, SlicesAndElements) {
  NEEDS_GPU();
  struct Sizes {
    Shape x, ids, updates;
    s64 dim;
  };
  const Sizes slices[] = {{{5, 7, 16}, {6, 2}, {6, 16}, 5},
                          {{5, 7, 3}, {4, 9, 3}, {4, 9}, 3},
                          {{40, 9}, {3, 1}, {3, 9}, 40},
                          {{9, 40}, {1}, {40}, 9}};
  size_t number = 0;
  for (const Sizes& s : slices) {
    for (Dtype dtype : {Dtype::f32, kTypes[++number % std::size(kTypes)]}) {
      const Probe probe{
          .op = "ScatterND",
          .inputs = {activation(bytes(dtype, s.x)), constant(indices(Dtype::s64, s.ids, s.dim)),
                     activation(bytes(dtype, s.updates))}};
      expect_assigned(probe, cuda::lower_scatter_nd, to_string(s.ids));
    }
  }
  for (s64 axis : {0, 1, -1}) {
    const Shape x{6, 7, 8}, ids{4, 5, 3};
    Probe probe{.op = "ScatterElements",
                .inputs = {activation(bytes(Dtype::f32, x)), constant(indices(Dtype::s32, ids, 6)),
                           activation(bytes(Dtype::f32, ids))}};
    probe.attrs.set("axis", axis);
    expect_assigned(probe, cuda::lower_scatter_elements, fmt::format("axis {}", axis));
  }
}

TEST(GpuAssign, SaysWhyNot) {
  NEEDS_GPU();
  Probe probe{
      .op = "ScatterND",
      .inputs = {activation(bytes(Dtype::f32, {5, 7})), activation(indices(Dtype::s64, {2, 1}, 5)),
                 activation(bytes(Dtype::f32, {2, 7}))}};
  const auto why = [&] { return run_on_gpu(probe, cuda::lower_scatter_nd).reject; };
  EXPECT_EQ(why(), "the indices are not constant");
  probe.inputs[1] = constant(Tensor::of<s64>(Shape{2, 1}, std::vector<s64>{4, -6}));
  EXPECT_EQ(why(), "an index lies outside its axis");
  probe.attrs.set("reduction", std::string("add"));
  EXPECT_EQ(why(), "updates are combined with what is there");
}

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    return error.message();
  }
  return "none";
}

// Of several the first, whatever thread finds it, with all 64 bits.
TEST(GpuGather, IndicesOutside) {
  NEEDS_GPU();
  if (test::only_compiles()) GTEST_SKIP() << "nothing runs here";
  struct Wrong {
    std::vector<std::pair<s64, s64>> at;
  };
  const s64 huge = std::numeric_limits<s64>::max(), least = std::numeric_limits<s64>::min();
  const Wrong all[] = {{{{0, 50}}},
                       {{{699, -51}}},
                       {{{300, huge}, {301, 50}}},
                       {{{12, least}, {11, 1ll << 32}}},
                       {{{257, -51}, {256, 51}, {255, 4294967295ll}}}};
  for (const char* op : {"Gather", "GatherElements"}) {
    const bool single = std::string_view(op) == "GatherElements";
    const LowerFunction lowering = single ? cuda::lower_gather_elements : cuda::lower_gather_at_run;
    for (const Wrong& wrong : all) {
      Tensor ids = indices(Dtype::s64, single ? Shape{700, 3} : Shape{7, 100}, 50);
      for (const auto& [at, index] : wrong.at)
        ids.mutable_as<s64>()[static_cast<size_t>(at)] = index;
      const Tensor x = bytes(Dtype::f32, single ? Shape{50, 3} : Shape{50, 33});
      const Probe probe = gather(op, x, ids, 0);
      const std::string want = error_of([&] { probe.reference(); });
      EXPECT_THAT(want, testing::HasSubstr("is outside [-50, 50) of axis 0"));
      EXPECT_EQ(error_of([&] { run_on_gpu(probe, lowering); }), want) << op;
    }
  }
  Probe tuple = gather_nd(Dtype::f32, {9, 7, 8}, {30, 2}, 0);
  tuple.inputs[1].tensor.mutable_as<s64>()[41] = -8;
  tuple.inputs[1].tensor.mutable_as<s64>()[42] = 9;
  EXPECT_EQ(error_of([&] { run_on_gpu(tuple, cuda::lower_gather_nd); }),
            "index -8 is outside [-7, 7) of axis 1");
  const Probe narrow = gather("Gather", bytes(Dtype::u8, {5, 3}),
                              Tensor::of<s32>(Shape{2}, std::vector<s32>{4, -6}), 0);
  EXPECT_EQ(error_of([&] { run_on_gpu(narrow, cuda::lower_gather_at_run); }),
            "index -6 is outside [-5, 5) of axis 0");
}

}  // namespace
}  // namespace octet
