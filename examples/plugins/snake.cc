// SPDX-License-Identifier: Apache-2.0
// An activation that ONNX does not have, x + sin(ax)^2 / a, as reals and as a table of 256 codes, which is made for the scales of a call.
#include <algorithm>
#include <cmath>

#include "octet/plugin_cpp.h"

namespace {

using namespace octet::plugin;

struct Snake {
  explicit Snake(const Attributes& attributes) : a(attributes.f("a")) {}

  float value(float x) const {
    const float s = std::sin(a * x);
    return x + s * s / a;
  }

  void shapes(Shapes& s) const { s.same(0, 0); }

  void reals(Call& call) const {
    const float* x = call.input(0).data<float>();
    float* y = call.output(0).data<float>();
    call.parallel(call.input(0).elements(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = value(x[i]);
    });
  }

  void codes(Call& call) const {
    const Tensor in = call.input(0), out = call.output(0);
    uint8_t table[256];
    for (int q = 0; q < 256; ++q) {
      const float real = value(in.scale() * static_cast<float>(q - in.zero_point()));
      const float code = std::nearbyint(real / out.scale()) + static_cast<float>(out.zero_point());
      table[q] = static_cast<uint8_t>(std::min(255.0f, std::max(0.0f, code)));
    }
    const uint8_t* x = in.data<uint8_t>();
    uint8_t* y = out.data<uint8_t>();
    call.parallel(in.elements(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
    });
  }

  double cost_of_reals(const Call& call) const {
    return 20.0 * static_cast<double>(call.input(0).elements());
  }
  double cost_of_codes(const Call& call) const {
    return 6000.0 + static_cast<double>(call.input(0).elements());
  }

  float a;
};

Library make() {
  return std::move(Library("snake", "1.0.0")
                       .add(Operator<Snake>("octet.examples", "Snake", 1)
                                .flags(OCTET_OPERATOR_QUANTIZABLE)
                                .real("a", 1.0f)
                                .between(1e-3, 1e3)
                                .input({"x"})
                                .output({"y"})
                                .shapes<&Snake::shapes>()
                                .combination<&Snake::reals>("reals", {f32()}, {f32()})
                                .cost<&Snake::cost_of_reals>()
                                .combination<&Snake::codes>("int8", {u8()}, {u8()})
                                .cost<&Snake::cost_of_codes>()
                                .example({{1, 8, 5, 7}})
                                .example({{300}})));
}

}  // namespace

OCTET_PLUGIN(make())
