// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "half_text.h"

namespace octet::test {

// A depthwise convolution with what stands around it, as a plan's chains have it: %x of type `from`, %y of type `to`.
struct Depthwise {
  std::string from, to;
  int taps, stride, channels, height, width;
  bool residual = false;
  std::string activation = "";
  std::string function = "";  // of its rounded result
  bool behind = false;        // the residual is added to the function's, or to its result, rounded
  int dilation = 1;

  // A function that the special-function unit may compute: its result is stored in 16 bits (docs/numerics.md, section 7).
  bool is_close() const {
    return (function == "Swish" || function == "Gelu") && (to == "f16" || to == "bf16");
  }
  std::string shape(bool out) const {
    const auto size = [&](int in) { return out ? (in - 1) / stride + 1 : in; };
    return fmt::format("[2,{},{},{}]", channels, size(height), size(width));
  }
  // %v is the real of a value of that type.
  static std::string widened(const std::string& type, const std::string& shape, const char* x,
                             const char* v) {
    if (type == "f32")
      return fmt::format("%{}: f32{} = RoundTo(%{}) {{to=\"f16\"}}\n", v, shape, x);
    if (type == "u8" || type == "s8")
      return fmt::format(
          "%{0}d: f32{1} = DequantizeLinear(%{2}, %s, %{3}z)\n"
          "%{0}: f32{1} = RoundTo(%{0}d) {{to=\"f16\"}}\n",
          v, shape, x, type);
    return fmt::format("%{}: f32{} = Cast(%{}) {{to=\"f32\"}}\n", v, shape, x);
  }
  std::string text() const {
    const std::string half = from == "bf16" || to == "bf16" ? "bf16" : "f16";
    std::string text = fmt::format("graph \"g\"(%x: {}{}{}) {{\n", from, shape(false),
                                   residual ? fmt::format(", %a: {}{}", to, shape(true)) : "");
    text += weights("w", fmt::format("{},1,{},{}", channels, taps, taps), channels * taps * taps,
                    0.0997314453f);
    text += weights("b", fmt::format("{}", channels), channels);
    text += "const %s: f32[] = {0.0157}\nconst %u8z: u8[] = {128}\nconst %s8z: s8[] = {3}\n";
    text += widened(from, shape(false), "x", "v");
    if (residual) text += widened(to, shape(true), "a", "r");
    const int pad = taps / 2 * dilation;
    text += fmt::format(
        "%c: f32{} = Conv(%v, %w, %b{}) {{pads=ints[{}, {}, {}, {}], strides=ints[{}, {}], "
        "dilations=ints[{}, {}], group={}{}}}\n",
        shape(true), residual && !behind ? ", %r" : "", pad, pad, pad, pad, stride, stride,
        dilation, dilation, channels, activation);
    if (!function.empty()) {
      text += fmt::format("%cr: f32{0} = RoundTo(%c) {{to=\"{1}\"}}\n%e: f32{0} = {2}(%cr)\n",
                          shape(true), half, function);
    }
    if (behind) {
      text += fmt::format("%er: f32{0} = RoundTo(%{2}) {{to=\"{1}\"}}\n%q: f32{0} = Add(%r, %er)\n",
                          shape(true), half, function.empty() ? "c" : "e");
    }
    const char* const result = behind ? "q" : function.empty() ? "c" : "e";
    if (to == "f32")
      return text + fmt::format("%y: f32{} = Relu(%{})\nreturn %y\n}}", shape(true), result);
    if (to == "u8" || to == "s8")
      return text + fmt::format(
                        "%h: f32{0} = RoundTo(%{3}) {{to=\"{1}\"}}\n"
                        "%y: {2}{0} = QuantizeLinear(%h, %s, %{2}z)\nreturn %y\n}}",
                        shape(true), half, to, result);
    return text + fmt::format("%y: {0}{1} = Cast(%{2}) {{to=\"{0}\"}}\nreturn %y\n}}", to,
                              shape(true), result);
  }
};

}  // namespace octet::test
