// SPDX-License-Identifier: Apache-2.0
// A plugin of the test program itself: test/Double, y = 2 x, of reals and of u8 codes, which may be fused in models with Q/DQ, and
// test/SameHalf, y = x, of f16 alone.
#pragma once

#include <algorithm>
#include <cmath>

#include "octet/plugin_cpp.h"
#include "octet/plugins.h"

namespace octet {

struct DoublePlugin {
  explicit DoublePlugin(const plugin::Attributes&) {}
  void shapes(plugin::Shapes& s) const { s.same(0, 0); }
  void reals(plugin::Call& call) const {
    for (int64_t i = 0; i < call.input(0).elements(); ++i)
      call.output(0).data<float>()[i] = 2 * call.input(0).data<float>()[i];
  }
  void codes(plugin::Call& call) const {
    const plugin::Tensor x = call.input(0), y = call.output(0);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const float real = x.scale() * static_cast<float>(x.data<uint8_t>()[i] - x.zero_point());
      const float code = std::nearbyint(2 * real / y.scale()) + static_cast<float>(y.zero_point());
      y.data<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(code, 0.0f, 255.0f));
    }
  }
};

struct SameHalfPlugin {
  explicit SameHalfPlugin(const plugin::Attributes&) {}
  void shapes(plugin::Shapes& s) const { s.same(0, 0); }
  void halves(plugin::Call& call) const {
    std::copy_n(call.input(0).data<uint16_t>(), call.input(0).elements(),
                call.output(0).data<uint16_t>());
  }
};

inline void add_double_plugin() {
  using namespace plugin;
  static Library library = std::move(
      Library("double", "1.0")
          .add(Operator<DoublePlugin>("test", "Double", 1)
                   .flags(OCTET_OPERATOR_QUANTIZABLE)
                   .input({"x"})
                   .output({"y"})
                   .shapes<&DoublePlugin::shapes>()
                   .combination<&DoublePlugin::reals>("reals", {plugin::f32()}, {plugin::f32()})
                   .combination<&DoublePlugin::codes>("codes", {plugin::u8()}, {plugin::u8()}))
          .add(Operator<SameHalfPlugin>("test", "SameHalf", 1)
                   .input({"x"})
                   .output({"y"})
                   .shapes<&SameHalfPlugin::shapes>()
                   .combination<&SameHalfPlugin::halves>("halves", {plugin::format(OCTET_TYPE_F16)},
                                                         {plugin::format(OCTET_TYPE_F16)})));
  static const octet_plugin& plugin = *library.get();
  add_plugin(plugin);
}

}  // namespace octet
