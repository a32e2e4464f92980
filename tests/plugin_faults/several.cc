// SPDX-License-Identifier: Apache-2.0
// Operators that between them use what a declaration can say: one that commutes with quantization, one with weights in codes for each
// channel and codes around zero, one with any number of inputs that runs one at a time and has state and attributes of every kind.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "octet/plugin_cpp.h"

namespace {

using namespace octet::plugin;

// The last dimension backwards.
struct Backwards {
  explicit Backwards(const Attributes&) {}
  void shapes(Shapes& s) const { s.same(0, 0); }

  template <class T>
  void run(Call& call) const {
    const Tensor x = call.input(0);
    const int64_t width = x.dim(x.rank() - 1);
    for (int64_t at = 0; at < x.elements(); at += std::max<int64_t>(width, 1))
      std::reverse_copy(x.data<T>() + at, x.data<T>() + at + width, call.output(0).data<T>() + at);
  }
  void reals(Call& call) const { run<float>(call); }
  void codes(Call& call) const { run<uint8_t>(call); }
};

// y = x * w for each channel, dimension 1.
struct ScaleChannels {
  explicit ScaleChannels(const Attributes&) {}
  void shapes(Shapes& s) const {
    if (s.input(1).dim(0) != s.input(0).dim(1)) throw Refused("one weight for each channel");
    s.same(0, 0);
  }

  template <class Body>
  static void each(const Tensor& x, const Body& body) {
    int64_t inner = 1;
    for (int i = 2; i < x.rank(); ++i) inner *= x.dim(i);
    for (int64_t i = 0; i < x.elements(); ++i) body(i, i / inner % x.dim(1));
  }
  void reals(Call& call) const {
    each(call.input(0), [&](int64_t i, int64_t c) {
      call.output(0).data<float>()[i] =
          call.input(0).data<float>()[i] * call.input(1).data<float>()[c];
    });
  }
  void codes(Call& call) const {
    const Tensor x = call.input(0), w = call.input(1), y = call.output(0);
    each(x, [&](int64_t i, int64_t c) {
      const int product = x.data<int8_t>()[i] * w.data<int8_t>()[c];
      const float real = x.scale() * w.scale(c) * static_cast<float>(product);
      const float code = std::nearbyint(real / y.scale());
      y.data<int8_t>()[i] = static_cast<int8_t>(std::min(127.0f, std::max(-128.0f, code)));
    });
  }
};

// The weighted sum of all inputs, divided by what its attributes add up to.
struct Mix {
  explicit Mix(const Attributes& a) : state(a.state()) {
    const auto ints = a.ints("ints");
    const auto floats = a.floats("floats");
    divisor = static_cast<float>(a.i("one")) + std::accumulate(floats.begin(), floats.end(), 0.0f) +
              static_cast<float>(std::accumulate(ints.begin(), ints.end(), int64_t{0}));
    if (a.text("mode") == "double") divisor *= 2;
    if (divisor == 0) throw Refused("its attributes add up to nothing");
    if (!state.empty() && state != "mixed") throw Refused("not its own state");
  }
  std::string serialize() const { return "mixed"; }
  void shapes(Shapes& s) const {
    for (uint64_t i = 1; i < s.inputs(); ++i) {
      if (s.input(i).dims() != s.input(0).dims()) throw Refused("inputs of other shapes");
    }
    s.same(0, 0);
  }
  void reals(Call& call) const {
    busy = static_cast<float>(call.inputs());  // not for two calls at once
    for (int64_t i = 0; i < call.output(0).elements(); ++i) {
      float sum = 0;
      for (uint64_t n = 0; n < call.inputs(); ++n) sum += call.input(n).data<float>()[i];
      call.output(0).data<float>()[i] =
          busy == static_cast<float>(call.inputs()) ? sum / divisor : 0;
    }
  }

  std::string state;
  float divisor = 1;
  mutable float busy = 0;
};

Library make() {
  Library library("several", "2.1");
  library.add(Operator<Backwards>("org.several", "Backwards", 1)
                  .flags(OCTET_OPERATOR_COMMUTES)
                  .input({"x", 0, 1})
                  .output({"y", 0, 1})
                  .shapes<&Backwards::shapes>()
                  .combination<&Backwards::reals>("reals", {f32()}, {f32()})
                  .combination<&Backwards::codes>("codes", {u8()}, {u8()}));
  library.add(Operator<ScaleChannels>("org.several", "ScaleChannels", 3)
                  .flags(OCTET_OPERATOR_QUANTIZABLE)
                  .input({"x", 0, 2})
                  .input({"w", OCTET_PORT_CONSTANT, 1, 1})
                  .output({"y", 0, 2})
                  .shapes<&ScaleChannels::shapes>()
                  .combination<&ScaleChannels::reals>("reals", {f32(), f32()}, {f32()})
                  .combination<&ScaleChannels::codes>(
                      "int8", {symmetric(s8()), per_channel(symmetric(s8()), 0)}, {symmetric(s8())})
                  .example({{2, 4, 3}, {4}}));
  library.add(Operator<Mix>("org.several", "Mix", 1)
                  .one_at_a_time()
                  .integer("one", 1)
                  .between(0, 100)
                  .integers("ints", {})
                  .between(0, 10)
                  .count(0, 3)
                  .reals("floats", {0.5f, 0.5f})
                  .between(0, 1)
                  .count(0, 4)
                  .text("mode", "plain", "plain|double")
                  .input({"x", OCTET_PORT_VARIADIC, 0, 8, 2})
                  .output({"y"})
                  .shapes<&Mix::shapes>()
                  .state<&Mix::serialize>()
                  .combination<&Mix::reals>("reals", {f32()}, {f32()})
                  .example({{2, 3}, {2, 3}, {2, 3}}));
  return library;
}

}  // namespace

OCTET_PLUGIN(make())
