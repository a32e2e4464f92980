// SPDX-License-Identifier: Apache-2.0
// A product of 16-bit floats, its operands, and the error that its length and operands allow.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "graph/text.h"
#include "half_text.h"
#include "ops/registry.h"
#include "ops/shared/dtypes.h"

namespace octet::test {

struct HalfCase {
  s64 batch = 1, channels = 16, height = 9, width = 7, outputs = 24;
  s64 kernel_h = 1, kernel_w = 1, stride = 1, dilation = 1, pad = 0;
  const char* type = "f16";   // f32: products of terms; u8 or s8: of codes by weights of f32
  const char* y = "f16";      // the same, f32 or u8
  const char* residual = "";  // none, the type or f32
  const char* activation = "";
  bool rows = false, bias = true;
  bool image = false;  // x is f32, and rounded for the layer

  s64 out(s64 in, s64 kernel) const {
    return (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  }
  s64 out_h() const { return rows ? height : out(height, kernel_h); }
  s64 out_w() const { return rows ? 1 : out(width, kernel_w); }
  s64 k() const { return channels * kernel_h * kernel_w; }
  s64 zero = 0;  // of codes
  bool of_codes() const { return type == std::string("u8") || type == std::string("s8"); }
  bool of_terms() const { return of_codes() || type == std::string("f32"); }
  Shape x_shape() const {
    return rows ? Shape{batch, height, channels} : Shape{batch, channels, height, width};
  }
  Shape y_shape() const {
    return rows ? Shape{batch, height, outputs} : Shape{batch, outputs, out_h(), out_w()};
  }
};

constexpr f32 kScale = 0.37f;
constexpr s64 kZero = 117;
constexpr f32 kCodeScale = 0.0157f;  // of x

class Operands {
 public:
  explicit Operands(const HalfCase& c)
      : case_(c),
        x_(c.image ? Dtype::f32 : dtype_from_name(c.type), c.x_shape()),
        residual_(dtype_from_name(*c.residual != 0 ? c.residual : c.type), c.y_shape()) {
    fill(x_);
    fill(residual_);
    weights_ = numbers(static_cast<size_t>(c.outputs * c.k()));
    bias_ = numbers(static_cast<size_t>(c.outputs));
  }

  std::vector<Tensor> inputs() const {
    return *case_.residual != 0 ? std::vector{x_, residual_} : std::vector{x_};
  }

  Graph graph() const {
    const HalfCase& c = case_;
    const bool added = *c.residual != 0, widened = added && std::string(c.residual) != "f32";
    std::string text =
        fmt::format("graph \"g\"(%x: {}[{}]", c.image ? "f32" : c.type, dims(c.x_shape()));
    if (added) text += fmt::format(", %r: {}[{}]", c.residual, dims(c.y_shape()));
    text += fmt::format(") {{\n  const %w: f32[{}] = {{{}}}\n", dims(weights_shape()),
                        fmt::join(weights_, ", "));
    if (c.bias)
      text += fmt::format("  const %b: f32[{}] = {{{}}}\n", c.outputs, fmt::join(bias_, ", "));
    if (c.image)
      text += fmt::format("  %h: {0}[{1}] = Cast(%x) {{to=\"{0}\"}}\n", c.type, dims(c.x_shape()));
    if (c.of_codes())
      text += fmt::format(
          "  const %xs: f32[] = {{{1}}}\n  const %xz: {0}[] = {{{2}}}\n"
          "  %i: f32[{3}] = DequantizeLinear(%x, %xs, %xz)\n",
          c.type, kCodeScale, c.zero, dims(c.x_shape()));
    if (!c.of_terms())
      text += fmt::format("  %i: f32[{}] = Cast(%{}) {{to=\"f32\"}}\n", dims(c.x_shape()),
                          c.image ? "h" : "x");
    if (widened)
      text += fmt::format("  %a: f32[{}] = Cast(%r) {{to=\"f32\"}}\n", dims(c.y_shape()));
    text += fmt::format("  %p: f32[{}] = {}(%{}, %w{}{}) {{", dims(c.y_shape()),
                        c.rows ? "MatMul" : "Conv", c.type == std::string("f32") ? "x" : "i",
                        c.bias  ? ", %b"
                        : added ? ", _"
                                : "",
                        !added    ? ""
                        : widened ? ", %a"
                                  : ", %r");
    if (!c.rows)
      text += fmt::format(
          "strides=ints[{0}, {0}], dilations=ints[{1}, {1}], pads=ints[{2}, {2}, {2}, {2}], ",
          c.stride, c.dilation, c.pad);
    text +=
        fmt::format("activation=\"{}\", activation_min=-1.5, activation_max=2.5}}\n", c.activation);
    return parse_graph(text + tail(), find_op);
  }

  // Each output lies within what its sums may lose, and a rounding, of the exact one.
  void expect_near(const Tensor& got, const std::string& what) const {
    const HalfCase& c = case_;
    const s64 height = c.out_h(), width = c.out_w();
    for (s64 i = 0; i < c.batch * c.outputs * height * width; ++i) {
      const s64 image = i / (height * width);
      ASSERT_NO_FATAL_FAILURE(expect_output(
          got, what, {image / c.outputs, image % c.outputs, i / width % height, i % width}));
    }
  }

 private:
  struct At {
    s64 n, o, h, w;
  };

  f32 number(std::mt19937& random) const {
    if (case_.of_terms()) return static_cast<f32>(random()) * 0x1p-30f - 2.0f;  // all 24 bits
    return static_cast<f32>(random() % 4096) / 1024.0f - 2.0f;
  }
  void fill(Tensor& to) {
    for (s64 i = 0; i < to.elements(); ++i) {
      const f32 value = number(random_);
      const size_t at = static_cast<size_t>(i);
      if (to.dtype() == Dtype::f16) to.mutable_as<f16>()[at] = f16(value);
      if (to.dtype() == Dtype::bf16) to.mutable_as<bf16>()[at] = bf16(value);
      if (to.dtype() == Dtype::f32) to.mutable_as<f32>()[at] = value;
      if (to.dtype() == Dtype::u8) to.mutable_as<u8>()[at] = static_cast<u8>(random_());
      if (to.dtype() == Dtype::s8) to.mutable_as<s8>()[at] = static_cast<s8>(random_());
    }
  }
  std::vector<f32> numbers(size_t count) {
    std::vector<f32> all(count);
    for (f32& value : all) value = rounded(number(random_) / 8.0f, case_.type);
    return all;
  }
  Shape weights_shape() const {
    return case_.rows ? Shape{case_.channels, case_.outputs}
                      : Shape{case_.outputs, case_.channels, case_.kernel_h, case_.kernel_w};
  }
  std::string tail() const {
    const std::string y = case_.y, shape = dims(case_.y_shape());
    if (y == "f32") return "  return %p\n}";
    if (y != "u8")
      return fmt::format("  %y: {0}[{1}] = Cast(%p) {{to=\"{0}\"}}\n  return %y\n}}", y, shape);
    return fmt::format(
        "  const %s: f32[] = {{{}}}\n  const %z: u8[] = {{{}}}\n"
        "  %y: u8[{}] = QuantizeLinear(%p, %s, %z)\n  return %y\n}}",
        kScale, kZero, shape);
  }
  static f64 real(const Tensor& from, s64 i) {
    const size_t at = static_cast<size_t>(i);
    if (from.dtype() == Dtype::f16) return static_cast<f32>(from.as<f16>()[at]);
    if (from.dtype() == Dtype::bf16) return static_cast<f32>(from.as<bf16>()[at]);
    if (from.dtype() == Dtype::s8) return from.as<s8>()[at];
    return from.dtype() == Dtype::u8 ? from.as<u8>()[at] : from.as<f32>()[at];
  }
  f64 real_of_x(s64 i) const {
    const f64 x = real(x_, i);
    if (case_.of_codes()) return (x - static_cast<f64>(case_.zero)) * f64{kCodeScale};
    return rounded(static_cast<f32>(x), case_.type);
  }
  s64 place(const At& at) const {
    const HalfCase& c = case_;
    return c.rows ? (at.n * c.height + at.h) * c.outputs + at.o
                  : ((at.n * c.outputs + at.o) * c.out_h() + at.h) * c.out_w() + at.w;
  }
  // Of one tap: the exact sum and that of magnitudes.
  void add_tap(const At& at, s64 r, s64 s, f64 (&sums)[2]) const {
    const HalfCase& c = case_;
    const s64 h = at.h * c.stride - c.pad + r * c.dilation,
              w = at.w * c.stride - c.pad + s * c.dilation;
    if (!c.rows && (h < 0 || w < 0 || h >= c.height || w >= c.width)) return;
    for (s64 i = 0; i < c.channels; ++i) {
      const s64 x = c.rows ? (at.n * c.height + at.h) * c.channels + i
                           : ((at.n * c.channels + i) * c.height + h) * c.width + w;
      const s64 weight = c.rows ? i * c.outputs + at.o
                                : ((at.o * c.channels + i) * c.kernel_h + r) * c.kernel_w + s;
      const f64 product = real_of_x(x) * f64{weights_[static_cast<size_t>(weight)]};
      sums[0] += product, sums[1] += std::abs(product);
    }
  }
  // What a sum may lose: products of 16 and the sum so far are truncated to 25 bits below the largest, and what comes out to 24.
  f64 lost(f64 magnitude, s64 k) const {
    // Of terms no more than an f32 sum in order.
    if (case_.of_terms()) return static_cast<f64>(case_.k() + 4) * 0x1p-24 * magnitude;
    return static_cast<f64>(k / 16 + 1) * 21 * 0x1p-25 * magnitude + 0x1p-22 * magnitude;
  }
  void expect_output(const Tensor& got, const std::string& what, const At& at) const {
    const HalfCase& c = case_;
    f64 sums[2] = {};
    for (s64 r = 0; r < c.kernel_h; ++r)
      for (s64 s = 0; s < c.kernel_w; ++s) add_tap(at, r, s, sums);
    const f64 bias = c.bias ? bias_[static_cast<size_t>(at.o)] : 0.0f;
    const f64 added = *c.residual != 0 ? real(residual_, place(at)) : 0;
    f64 want = sums[0] + bias + added;
    const f64 near =
        lost(sums[1] + std::abs(bias) + std::abs(added), c.k() + 16 * c.kernel_h * c.kernel_w);
    const std::string activation = c.activation, y = c.y;
    if (activation == "relu") want = std::max(0.0, want);
    if (activation == "clip") want = std::clamp(want, -1.5, 2.5);
    f64 given = real(got, place(at)), own = 0;
    if (y == "f16") own = std::abs(want) * 0x1p-11 + 0x1p-25;
    if (y == "bf16") own = std::abs(want) * 0x1p-8;
    if (y == "u8") {
      want = std::clamp<f64>(want / f64{kScale} + static_cast<f64>(kZero), 0, 255);
      own = 0.5 + 0x1p-20 * (std::abs(want) + static_cast<f64>(kZero));
    }
    const f64 whole = (y == "u8" ? near / f64{kScale} : near) + own;
    ASSERT_LE(std::abs(given - want), whole * (1 + 0x1p-10))
        << what << " at " << at.n << " " << at.o << " " << at.h << " " << at.w << ": " << given
        << " for " << want;
  }

  const HalfCase case_;
  std::mt19937 random_{7};
  Tensor x_, residual_;
  std::vector<f32> weights_, bias_;
};

}  // namespace octet::test
