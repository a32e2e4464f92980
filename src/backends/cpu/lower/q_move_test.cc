// SPDX-License-Identifier: Apache-2.0
// Pools and moves of u8 codes (and f32) against the scalar reference.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

ProbeInput ints(const std::vector<s64>& values) {
  return constant(Tensor::of<s64>({static_cast<s64>(values.size())}, values));
}

ProbeInput image(const Shape& shape) { return activation(random_u8(shape, 1), Layout::nhwc); }

Probe pool(const std::string& op, const Shape& shape, std::vector<s64> kernel, s64 stride) {
  Probe probe{.op = op};
  probe.inputs = {image(shape)};
  probe.attrs.set("kernel_shape", kernel);
  probe.attrs.set("strides", std::vector<s64>{stride, stride});
  probe.attrs.set("scales", std::vector<f32>{0.11f, 0.07f});
  probe.attrs.set("input_zero_points", std::vector<s64>{119});
  probe.attrs.set("output_zero_point", s64{33});
  return probe;
}

TEST(QPool, ChannelsKernelsAndPads) {
  for (s64 channels : {1, 31, 32, 33, 63, 64, 65, 130}) {
    for (const std::vector<s64>& pads : {std::vector<s64>{0, 0, 0, 0}, {1, 0, 2, 1}}) {
      for (s64 ceil : {0, 1}) {
        Probe max = pool("MaxPool", {2, channels, 7, 6}, {3, 2}, 2);
        max.attrs.set("pads", pads[2] == 2 ? std::vector<s64>{1, 0, 2, 1} : pads);
        max.attrs.set("ceil_mode", ceil);
        expect_exact(max, lower_q_max_pool, fmt::format("max {}", channels));
        for (s64 include : {0, 1}) {
          Probe average = pool("QAveragePool", {2, channels, 7, 6}, {3, 2}, 2);
          average.attrs.set("pads", pads);
          average.attrs.set("ceil_mode", ceil);
          average.attrs.set("count_include_pad", include);
          expect_exact(average, lower_q_average_pool, fmt::format("average {}", channels));
        }
      }
    }
  }
}

// Windows that have loops of their own, neighbours that share one and those at both edges.
TEST(QPool, RowsOfSmallWindows) {
  for (s64 channels : {3, 15, 16, 17, 24, 64, 80}) {
    for (s64 kernel : {2, 3}) {
      for (s64 stride : {1, 2}) {
        Probe max = pool("MaxPool", {2, channels, 9, 14}, {kernel, kernel}, stride);
        expect_exact(max, lower_q_max_pool, fmt::format("{} of {}", kernel, channels));
        max.attrs.set("pads", std::vector<s64>{1, 1, 1, 1});
        expect_exact(max, lower_q_max_pool, fmt::format("{} of {}, padded", kernel, channels));
      }
    }
  }
}

TEST(QPool, DilatedAndLargeWindows) {
  Probe max = pool("MaxPool", {1, 20, 13, 13}, {5, 5}, 1);
  max.attrs.set("pads", std::vector<s64>{2, 2, 2, 2});
  expect_exact(max, lower_q_max_pool, "5x5");
  max.attrs.set("dilations", std::vector<s64>{2, 2});
  expect_exact(max, lower_q_max_pool, "5x5 dilated");
  // Sums pass u16.
  Probe average = pool("QAveragePool", {1, 70, 40, 41}, {40, 41}, 1);
  average.inputs[0].tensor = random_u8({1, 70, 40, 41}, 1, Codes::highest);
  for (s64 zero_point : {0, 1, 255}) {
    average.attrs.set("input_zero_points", std::vector<s64>{zero_point});
    expect_exact(average, lower_q_average_pool, "40x41");
  }
}

TEST(LinearPool, MaximaOfLinesAndVolumes) {
  struct Case {
    Shape x;
    std::vector<s64> kernel, strides, pads, dilations;
    s64 ceil;
  };
  const Case cases[] = {
      {{2, 5, 37}, {3}, {2}, {1, 1}, {1}, 0},
      {{1, 3, 40}, {5}, {1}, {2, 2}, {2}, 0},
      {{2, 3, 7}, {9}, {3}, {4, 4}, {1}, 1},
      {{2, 16, 8, 32, 33}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}, 0},
      {{1, 3, 5, 9, 11}, {3, 3, 3}, {1, 2, 2}, {1, 1, 1, 1, 0, 1}, {1, 1, 1}, 1},
      {{1, 2, 6, 7, 8}, {2, 1, 3}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {2, 1, 2}, 0}};
  for (const Case& c : cases) {
    for (bool codes : {false, true}) {
      Probe probe{.op = "MaxPool", .threads = 2};
      probe.inputs = {codes ? activation(random_u8(c.x, 1), Layout::linear)
                            : ProbeInput{random_f32(c.x, 1)}};
      probe.attrs.set("kernel_shape", c.kernel);
      probe.attrs.set("strides", c.strides);
      probe.attrs.set("pads", c.pads);
      probe.attrs.set("dilations", c.dilations);
      probe.attrs.set("ceil_mode", c.ceil);
      const ProbeResult result = run_probe(probe, lower_linear_max_pool);
      ASSERT_EQ(result.reject, "");
      const Tensor want = probe.reference()[0];
      EXPECT_EQ(std::memcmp(result.outputs[0].data(), want.data(), want.bytes()), 0)
          << to_string(c.x);
    }
  }
}

TEST(LinearPool, MeansOfTheLastAxes) {
  for (const std::vector<s64>& axes : {std::vector<s64>{2, 3, 4}, {-1}, {4, 3}}) {
    Probe probe{.op = "QReduceMean"};
    probe.inputs = {activation(random_u8(Shape{2, 7, 4, 9, 33}, 1), Layout::linear)};
    probe.attrs.set("axes", axes);
    probe.attrs.set("keepdims", s64{0});
    probe.attrs.set("scales", std::vector<f32>{0.11f, 0.03f});
    probe.attrs.set("input_zero_points", std::vector<s64>{119});
    probe.attrs.set("output_zero_point", s64{128});
    expect_exact(probe, lower_q_row_mean, "means");
  }
}

TEST(QMean, ImagesAndTokens) {
  const auto mean = [](const Shape& shape, std::vector<s64> axes, s64 keep, Layout layout) {
    Probe probe{.op = "QReduceMean"};
    probe.inputs = {activation(random_u8(shape, 1), layout)};
    probe.attrs.set("axes", axes);
    probe.attrs.set("keepdims", keep);
    probe.attrs.set("scales", std::vector<f32>{0.11f, 0.03f});
    probe.attrs.set("input_zero_points", std::vector<s64>{119});
    probe.attrs.set("output_zero_point", s64{128});
    expect_exact(probe, lower_q_mean, "mean of " + to_string(shape));
  };
  for (s64 keep : {0, 1}) {
    mean({2, 70, 7, 7}, {2, 3}, keep, Layout::nhwc);
    mean({3, 50, 33}, {1}, keep, Layout::linear);
    mean({3, 5, 4, 33}, {1, 2}, keep, Layout::linear);
  }
}

TEST(QMove, ConcatAndSplitOfChannels) {
  for (const auto& channels : {std::vector<s64>{3, 5}, {64, 1, 17}}) {
    Probe concat{.op = "Concat"};
    for (size_t i = 0; i < channels.size(); ++i) {
      concat.inputs.push_back(activation(random_u8({2, channels[i], 3, 4}, i), Layout::nhwc));
    }
    concat.attrs.set("axis", s64{1});
    expect_exact(concat, lower_q_concat, "concat");
  }
  Probe split{.op = "Split", .inputs = {image({2, 11, 3, 4}), ints({4, 7})}, .outputs = 2};
  split.attrs.set("axis", s64{1});
  expect_exact(split, lower_q_split, "split");
}

TEST(QMove, NearestResize) {
  for (const std::vector<f32>& scales :
       {std::vector<f32>{1, 1, 2, 2}, {1, 1, 3, 1}, {1, 1, 0.5f, 0.7f}, {1, 1, 1.6f, 2.3f}}) {
    for (const char* mode : {"asymmetric", "half_pixel", "align_corners"}) {
      Probe probe{.op = "Resize"};
      probe.inputs = {image({2, 19, 5, 6}), omitted(), constant(Tensor::of<f32>({4}, scales))};
      probe.attrs.set("coordinate_transformation_mode", std::string(mode));
      expect_exact(probe, lower_q_resize, mode);
    }
  }
}

TEST(QMove, Slices) {
  struct Case {
    std::vector<s64> starts, ends, axes, steps;
  };
  const Case cases[] = {{{1}, {4}, {1}, {1}},
                        {{0, 1}, {100, 100}, {2, 3}, {2, 2}},
                        {{-1, 1}, {-100, 3}, {2, 1}, {-1, 1}},
                        {{1, -3}, {2, -1}, {0, 3}, {1, 1}}};
  for (const Case& c : cases) {
    Probe probe{.op = "Slice"};
    probe.inputs = {image({2, 9, 5, 6}), ints(c.starts), ints(c.ends), ints(c.axes), ints(c.steps)};
    expect_exact(probe, lower_q_slice, fmt::format("starts {}", fmt::join(c.starts, ",")));
  }
}

TEST(QMove, Pads) {
  for (const std::vector<s64>& pads :
       {std::vector<s64>{0, 0, 1, 2, 0, 0, 3, 0}, {1, 0, 0, -1, 0, 0, -2, 4}}) {
    Probe probe{.op = "Pad"};
    probe.inputs = {image({2, 9, 5, 6}), ints(pads), constant(Tensor::scalar(u8{131}))};
    expect_exact(probe, lower_q_pad, "codes");
    probe.inputs[0] = activation(random_f32({2, 9, 5, 6}, 1), Layout::nhwc);
    probe.inputs[2] = constant(Tensor::scalar(-1.5f));
    expect_exact(probe, lower_q_pad, "f32");
  }
}

TEST(QMove, InterleavesPixels) {
  for (const s64 block : {1, 2, 3}) {
    for (const s64 channels : {1, 3, 8, 16, 17, 32, 33, 64, 65}) {
      Probe probe{.op = "DepthToSpace"};
      probe.attrs.set("blocksize", block);
      const Shape shape{2, channels * block * block, 3, 5};
      probe.inputs = {image(shape)};
      expect_exact(probe, lower_q_interleave, fmt::format("{} codes by {}", channels, block));
      probe.inputs = {activation(random_f32(shape, 1), Layout::nhwc)};
      expect_exact(probe, lower_q_interleave, fmt::format("{} reals by {}", channels, block));
      if (channels == 1) continue;
      probe.attrs.set("mode", std::string("CRD"));
      expect_exact(probe, lower_q_interleave, fmt::format("{} reals apart by {}", channels, block));
      probe.inputs = {image(shape)};
      expect_exact(probe, lower_q_interleave, fmt::format("{} codes apart by {}", channels, block));
    }
  }
}

TEST(QMove, Reshapes) {
  Probe probe{.op = "Reshape"};
  probe.inputs = {activation(random_u8({2, 70, 3, 5}, 1)), ints({2, 10, -1})};
  expect_exact(probe, lower_q_reshape, "linear");
  probe.inputs = {image({2, 70, 1, 1}), ints({2, 70})};
  expect_exact(probe, lower_q_reshape, "one pixel");
  Probe flatten{.op = "Flatten"};
  flatten.inputs = {image({2, 7000, 1, 1})};
  expect_exact(flatten, lower_q_reshape, "flatten");
}

TEST(QMove, Transposes) {
  const auto check = [](const Shape& shape, std::vector<s64> perm, Layout layout) {
    for (const Tensor& x : {random_u8(shape, 1), random_f32(shape, 2), Tensor(Dtype::s64, shape)}) {
      Probe probe{.op = "Transpose"};
      probe.inputs = {activation(x, layout)};
      probe.attrs.set("perm", perm);
      expect_exact(probe, lower_q_transpose, fmt::format("perm {}", fmt::join(perm, ",")));
    }
  };
  check({3, 4}, {1, 0}, Layout::linear);
  check({37, 50}, {1, 0}, Layout::linear);
  check({2, 17, 33}, {0, 2, 1}, Layout::linear);
  check({2, 17, 3, 9}, {0, 2, 1, 3}, Layout::linear);
  check({2, 17, 3, 19}, {0, 2, 3, 1}, Layout::linear);
  check({2, 17, 3, 19}, {0, 2, 3, 1}, Layout::nhwc);
  check({2, 17, 3, 19}, {0, 3, 1, 2}, Layout::linear);
  check({2, 17, 3, 19}, {3, 2, 1, 0}, Layout::linear);
  check({2, 3, 4, 5, 6}, {4, 1, 3, 0, 2}, Layout::linear);
  check({1, 1, 1}, {2, 1, 0}, Layout::linear);
}

// Every pair of layouts, with strides, for elements of 1, 4 and 8 bytes.
TEST(ConvertLayout, EqualsIndexing) {
  const Shape shape{2, 37, 5, 19};
  const Placement linear{};
  const Placement dense{Layout::nhwc, 37, 19 * 37, 5 * 19 * 37, 0};
  const Placement sliced{Layout::nhwc, 40, 20 * 40, 5 * 20 * 40, 0};
  const auto at = [&](const Placement& p, s64 n, s64 c, s64 h, s64 w) {
    if (p.layout == Layout::linear) return ((n * 37 + c) * 5 + h) * 19 + w;
    return n * p.image_stride + h * p.row_stride + w * p.pixel_stride + c;
  };
  ThreadPool threads(2);
  for (s64 bytes : {1, 4, 8}) {
    const Tensor src = random_u8({2 * 40 * 5 * 20 * bytes}, 3);
    for (const Placement& from : {linear, dense, sliced}) {
      for (const Placement& to : {linear, dense, sliced}) {
        for (const Isa isa : {Isa::none, Isa::avx2, Isa::vnni}) {
          if (!hardware_has(isa)) continue;
          Tensor dst(Dtype::u8, src.shape());
          convert_layout({shape, static_cast<size_t>(bytes), from, to, isa}, src.data(),
                         dst.mutable_data(), threads);
          for (s64 i = 0; i < shape.elements(); ++i) {
            const s64 w = i % 19, h = i / 19 % 5, c = i / 95 % 37, n = i / (95 * 37);
            ASSERT_EQ(
                std::memcmp(dst.data() + at(to, n, c, h, w) * bytes,
                            src.data() + at(from, n, c, h, w) * bytes, static_cast<size_t>(bytes)),
                0)
                << "element " << i << " of " << bytes << " bytes, " << isa_name(isa);
          }
        }
      }
    }
  }
}

// Every rest of a block, with what lies behind the matrix untouched.
TEST(TransposeMatrix, BlocksOfWordsAndTheirRests) {
  constexpr s64 kGap = 3;
  for (const Isa isa : {Isa::none, Isa::avx2, Isa::vnni}) {
    if (!hardware_has(isa)) continue;
    for (const s64 rows : {1, 2, 4, 7, 8, 9, 15, 16, 17, 40}) {
      for (const s64 columns : {1, 2, 4, 7, 8, 9, 15, 16, 17, 40}) {
        const s64 from = columns + kGap, to = rows + kGap;
        const Tensor src = random_f32({rows * from}, 5);
        Tensor dst = random_f32({columns * to}, 6);
        const Tensor before = dst.clone();
        transpose_matrix({src.data(), from, dst.mutable_data(), to, rows, columns, isa}, 4);
        for (s64 i = 0; i < columns * to; ++i) {
          const s64 r = i % to, c = i / to;
          const f32 expected = r < rows ? src.as<f32>()[static_cast<size_t>(r * from + c)]
                                        : before.as<f32>()[static_cast<size_t>(i)];
          ASSERT_EQ(dst.as<f32>()[static_cast<size_t>(i)], expected)
              << rows << " x " << columns << ", " << isa_name(isa);
        }
      }
    }
  }
}

TEST(TransposeMatrix, BlocksOfHalvesAndTheirRests) {
  constexpr s64 kGap = 3;
  for (const s64 rows : {1, 3, 7, 8, 9, 16, 21}) {
    for (const s64 columns : {1, 7, 8, 9, 31, 32, 33, 70}) {
      const s64 from = columns + kGap, to = rows + kGap;
      std::vector<u16> src(static_cast<size_t>(rows * from));
      std::iota(src.begin(), src.end(), u16{1});
      std::vector<u16> dst(static_cast<size_t>(columns * to));
      transpose_matrix({src.data(), from, dst.data(), to, rows, columns}, sizeof(u16));
      for (s64 i = 0; i < columns * to; ++i) {
        const s64 r = i % to, c = i / to;
        const u16 expected = r < rows ? src[static_cast<size_t>(r * from + c)] : u16{0};
        ASSERT_EQ(dst[static_cast<size_t>(i)], expected) << rows << " x " << columns;
      }
    }
  }
}

// Color images: three planes, of every length that leaves another rest.
TEST(ConvertLayout, ThreePlanesOfWords) {
  ThreadPool threads(2);
  for (s64 width : {1, 3, 4, 5, 8, 9, 511, 513, 1030}) {
    const Shape shape{1, 3, 1, width};
    const Tensor src = random_f32(shape, 4);
    Tensor dst(Dtype::f32, Shape{width * 3 + 1});
    dst.mutable_as<f32>()[static_cast<size_t>(width * 3)] = 77.0f;
    convert_layout({shape, 4, {}, {Layout::nhwc, 3, width * 3, width * 3, 0}}, src.data(),
                   dst.mutable_data(), threads);
    for (s64 i = 0; i < width * 3; ++i) {
      ASSERT_EQ(dst.as<f32>()[static_cast<size_t>(i)],
                src.as<f32>()[static_cast<size_t>(i % 3 * width + i / 3)]);
    }
    EXPECT_EQ(dst.as<f32>()[static_cast<size_t>(width * 3)], 77.0f);
  }
}

TEST(ConvertLayout, PixelsOfThreeWords) {
  ThreadPool threads(2);
  for (s64 width : {1, 3, 4, 5, 8, 9, 511, 513, 1030}) {
    const Shape shape{2, 3, 1, width};
    const Tensor src = random_f32(shape, 4);
    Tensor dst(Dtype::f32, Shape{width * 6 + 1});
    dst.mutable_as<f32>()[static_cast<size_t>(width * 6)] = 77.0f;
    convert_layout({shape, 4, {Layout::nhwc, 3, width * 3, width * 3, 0}, {}}, src.data(),
                   dst.mutable_data(), threads);
    for (s64 i = 0; i < width * 6; ++i) {
      const s64 image = i / (3 * width), plane = i / width % 3, pixel = i % width;
      ASSERT_EQ(dst.as<f32>()[static_cast<size_t>(i)],
                src.as<f32>()[static_cast<size_t>((image * width + pixel) * 3 + plane)]);
    }
    EXPECT_EQ(dst.as<f32>()[static_cast<size_t>(width * 6)], 77.0f);
  }
}

}  // namespace
}  // namespace octet
