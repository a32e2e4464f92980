// SPDX-License-Identifier: Apache-2.0
// Float Conv, MatMul, Gemm and ConvTranspose against sums in f64, within the bound of f32 summation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::OpCall;
using testing::Random;
using testing::tensor;
using testing::values_of;

// A sum in f64, and what f32 summation of the same terms may be off by: (terms + 2) * eps * sum |term|.
struct Sum {
  f64 value = 0.0, magnitude = 0.0;
  s64 terms = 0;
  void add(f64 term) {
    value += term;
    magnitude += std::fabs(term);
    ++terms;
  }
  f64 bound() const {
    return static_cast<f64>(terms + 2) * std::numeric_limits<f32>::epsilon() * magnitude;
  }
};

struct Case {
  s64 n, groups, cg, og, h, w, kh, kw;
  std::vector<s64> strides, pads, dilations;
};

Case random_case(Random& random) {
  Case c{random.integer(1, 2),
         random.integer(1, 3),
         random.integer(1, 20),
         random.integer(1, 3),
         random.integer(5, 9),
         random.integer(5, 9),
         random.integer(1, 3),
         random.integer(1, 3),
         {},
         {},
         {}};
  c.strides = {random.integer(1, 3), random.integer(1, 3)};
  c.pads = {random.integer(0, 2), random.integer(0, 2), random.integer(0, 2), random.integer(0, 2)};
  c.dilations = {random.integer(1, 2), random.integer(1, 2)};
  return c;
}

Sum conv_at(const Case& c, const Tensor& x, const Tensor& w, s64 n, s64 o, s64 y, s64 z) {
  Sum sum;
  const s64 group = o / c.og;
  for (s64 i = 0; i < c.cg; ++i) {
    for (s64 kh = 0; kh < c.kh; ++kh) {
      for (s64 kw = 0; kw < c.kw; ++kw) {
        const s64 ih = y * c.strides[0] - c.pads[0] + kh * c.dilations[0];
        const s64 iw = z * c.strides[1] - c.pads[1] + kw * c.dilations[1];
        if (ih < 0 || iw < 0 || ih >= c.h || iw >= c.w) continue;
        const s64 xi = ((n * c.groups * c.cg + group * c.cg + i) * c.h + ih) * c.w + iw;
        const s64 wi = ((o * c.cg + i) * c.kh + kh) * c.kw + kw;
        sum.add(f64{x.as<f32>()[static_cast<size_t>(xi)]} *
                f64{w.as<f32>()[static_cast<size_t>(wi)]});
      }
    }
  }
  return sum;
}

TEST(Conv, RandomGeometriesEqualSumsInDouble) {
  for (u32 seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Case c = random_case(random);
    const Tensor x = random.reals(Shape{c.n, c.groups * c.cg, c.h, c.w}, -1.0f, 1.0f);
    const Tensor w = random.reals(Shape{c.groups * c.og, c.cg, c.kh, c.kw}, -1.0f, 1.0f);
    const Tensor bias = random.reals(Shape{c.groups * c.og}, -1.0f, 1.0f);
    const Tensor y = OpCall("Conv")
                         .in(x)
                         .in(w)
                         .in(bias)
                         .attr("group", c.groups)
                         .ints("strides", c.strides)
                         .ints("pads", c.pads)
                         .ints("dilations", c.dilations)
                         .run();
    size_t at = 0;
    for (s64 n = 0; n < y.shape()[0]; ++n) {
      for (s64 o = 0; o < y.shape()[1]; ++o) {
        for (s64 h = 0; h < y.shape()[2]; ++h) {
          for (s64 v = 0; v < y.shape()[3]; ++v, ++at) {
            Sum sum = conv_at(c, x, w, n, o, h, v);
            sum.add(bias.as<f32>()[static_cast<size_t>(o)]);
            ASSERT_NEAR(y.as<f32>()[at], sum.value, sum.bound()) << at;
          }
        }
      }
    }
  }
}

TEST(Conv, OneAndThreeDimensionsByHand) {
  const Tensor line = OpCall("Conv")
                          .in(tensor<f32>(Shape{1, 1, 4}, {1, 2, 3, 4}))
                          .in(tensor<f32>(Shape{1, 1, 2}, {1, 10}))
                          .ints("pads", {1, 0})
                          .run();
  EXPECT_EQ(values_of<f32>(line), (std::vector<f32>{10, 21, 32, 43}));
  const Tensor cube = OpCall("Conv")
                          .in(tensor<f32>(Shape{1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))
                          .in(tensor<f32>(Shape{1, 1, 2, 1, 2}, {1, 10, 100, 1000}))
                          .run();
  EXPECT_EQ(cube.shape(), (Shape{1, 1, 1, 2, 1}));
  EXPECT_EQ(values_of<f32>(cube), (std::vector<f32>{1 + 20 + 500 + 6000, 3 + 40 + 700 + 8000}));
}

TEST(Conv, ResidualThenActivation) {
  OpCall call("Conv");
  call.in(tensor<f32>(Shape{1, 1, 3}, {1, -2, 3}))
      .in(tensor<f32>(Shape{1, 1, 1}, {2}))
      .in(tensor<f32>(Shape{1}, {1}))
      .in(tensor<f32>(Shape{1, 1, 3}, {-4, 0, 4}));
  EXPECT_EQ(values_of<f32>(call.run()), (std::vector<f32>{-1, -3, 11}));
  EXPECT_EQ(values_of<f32>(call.attr("activation", std::string("relu")).run()),
            (std::vector<f32>{0, 0, 11}));
  call.attr("activation", std::string("clip"))
      .attr("activation_min", -2.0f)
      .attr("activation_max", 6.0f);
  EXPECT_EQ(values_of<f32>(call.run()), (std::vector<f32>{-1, -2, 6}));
  call.attr("activation", std::string("leaky_relu")).attr("activation_alpha", 0.5f);
  EXPECT_EQ(values_of<f32>(call.run()), (std::vector<f32>{-0.5f, -1.5f, 11}));
}

TEST(Conv, EmptyBatch) {
  const Tensor y = OpCall("Conv")
                       .in(Tensor(Dtype::f32, Shape{0, 2, 3, 3}))
                       .in(Tensor(Dtype::f32, Shape{4, 2, 3, 3}))
                       .run();
  EXPECT_EQ(y.shape(), (Shape{0, 4, 1, 1}));
}

TEST(MatMul, BroadcastBatchesEqualSumsInDouble) {
  struct Shapes {
    Shape a, b, y;
  };
  const Shapes cases[] = {{{3, 40}, {40, 5}, {3, 5}}, {{2, 1, 3, 17}, {4, 17, 2}, {2, 4, 3, 2}},
                          {{33}, {33, 4}, {4}},       {{5, 33}, {33}, {5}},
                          {{16}, {16}, {}},           {{3, 0}, {0, 2}, {3, 2}}};
  for (const Shapes& s : cases) {
    SCOPED_TRACE(to_string(s.a) + " " + to_string(s.b));
    Random random(1);
    const Tensor a = random.reals(s.a, -1.0f, 1.0f), b = random.reals(s.b, -1.0f, 1.0f);
    const Tensor y = OpCall("MatMul").in(a).in(b).run();
    ASSERT_EQ(y.shape(), s.y);
    const s64 k = s.a[s.a.rank() - 1];
    const s64 n = s.b.rank() > 1 ? s.b[s.b.rank() - 1] : 1;
    const s64 m = s.a.rank() > 1 ? s.a[s.a.rank() - 2] : 1;
    const s64 b_batches = s.b.rank() > 2 ? s.b[0] : 1;
    for (s64 i = 0; i < y.elements(); ++i) {
      const s64 batch = i / (m * n), row = i / n % m, column = i % n;
      const s64 a_matrix = s.a.rank() > 2 ? batch / b_batches : 0;
      Sum sum;
      for (s64 j = 0; j < k; ++j) {
        sum.add(f64{a.as<f32>()[static_cast<size_t>((a_matrix * m + row) * k + j)]} *
                f64{b.as<f32>()[static_cast<size_t>((batch % b_batches * k + j) * n + column)]});
      }
      ASSERT_NEAR(y.as<f32>()[static_cast<size_t>(i)], sum.value, sum.bound());
    }
  }
}

TEST(MatMul, ShapesMustFit) {
  const auto error = [](const Shape& a, const Shape& b) {
    return OpCall("MatMul").in(Tensor(Dtype::f32, a)).in(Tensor(Dtype::f32, b)).error();
  };
  EXPECT_NE(error(Shape{2, 3}, Shape{2, 3}), "");
  EXPECT_NE(error(Shape{}, Shape{2, 3}), "");
  EXPECT_NE(error(Shape{2, 4, 3}, Shape{3, 3, 3}), "");
  EXPECT_EQ(error(Shape{0, 1LL << 40, 3}, Shape{0, 3, 1LL << 40}), "");
}

TEST(Gemm, TransposesAndBroadcastsC) {
  const Tensor a = tensor<f32>(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor at = tensor<f32>(Shape{3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor b = tensor<f32>(Shape{3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor bt = tensor<f32>(Shape{2, 3}, {1, 0, 1, 0, 1, 1});
  const std::vector<f32> product = {4, 5, 10, 11};
  EXPECT_EQ(values_of<f32>(OpCall("Gemm").in(a).in(b).run()), product);
  EXPECT_EQ(values_of<f32>(OpCall("Gemm").in(at).in(b).attr("transA", s64{1}).run()), product);
  EXPECT_EQ(values_of<f32>(
                OpCall("Gemm").in(at).in(bt).attr("transA", s64{1}).attr("transB", s64{1}).run()),
            product);
  const auto with_c = [&](const Shape& shape, const std::vector<f32>& c) {
    return values_of<f32>(OpCall("Gemm")
                              .in(a)
                              .in(b)
                              .in(tensor(shape, c))
                              .attr("alpha", 2.0f)
                              .attr("beta", 10.0f)
                              .run());
  };
  EXPECT_EQ(with_c(Shape{}, {1}), (std::vector<f32>{18, 20, 30, 32}));
  EXPECT_EQ(with_c(Shape{2}, {1, 2}), (std::vector<f32>{18, 30, 30, 42}));
  EXPECT_EQ(with_c(Shape{2, 1}, {1, 2}), (std::vector<f32>{18, 20, 40, 42}));
  EXPECT_EQ(with_c(Shape{2, 2}, {1, 2, 3, 4}), (std::vector<f32>{18, 30, 50, 62}));
  EXPECT_NE(OpCall("Gemm").in(a).in(b).in(Tensor(Dtype::f32, Shape{3})).error(), "");
}

// The transpose of a convolution, as a matrix: y[j] = sum over i of w[j - i * stride + pad] * x[i].
TEST(ConvTranspose, LineByHand) {
  const Tensor x = tensor<f32>(Shape{1, 1, 3}, {1, 2, 3}),
               w = tensor<f32>(Shape{1, 1, 3}, {1, 10, 100});
  const auto run = [&](s64 stride, std::vector<s64> pads) {
    return values_of<f32>(
        OpCall("ConvTranspose").in(x).in(w).ints("strides", {stride}).ints("pads", pads).run());
  };
  EXPECT_EQ(run(1, {0, 0}), (std::vector<f32>{1, 12, 123, 230, 300}));
  EXPECT_EQ(run(1, {1, 2}), (std::vector<f32>{12, 123}));
  EXPECT_EQ(run(2, {0, 0}), (std::vector<f32>{1, 10, 102, 20, 203, 30, 300}));
}

TEST(ConvTranspose, Errors) {
  const Tensor x(Dtype::f32, Shape{1, 2, 3}), w(Dtype::f32, Shape{2, 1, 3});
  EXPECT_NE(OpCall("ConvTranspose").in(x).in(w).ints("pads", {5, 5}).error(), "");
  EXPECT_NE(OpCall("ConvTranspose").in(x).in(w).ints("strides", {0}).error(), "");
  EXPECT_NE(OpCall("ConvTranspose").in(x).in(w).attr("group", s64{0}).error(), "");
  EXPECT_NE(OpCall("ConvTranspose").in(x).in(w).ints("output_shape", {1LL << 40}).error(), "");
  EXPECT_NE(OpCall("ConvTranspose").in(x).in(Tensor(Dtype::f32, Shape{3, 1, 3})).error(), "");
  EXPECT_EQ(OpCall("ConvTranspose").in(x).in(w).attr("group", s64{2}).error(), "");
}

}  // namespace
}  // namespace octet
