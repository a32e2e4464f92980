// SPDX-License-Identifier: Apache-2.0
// Operators that between them use what a declaration can say: one that commutes with quantization, one with weights in codes for each
// channel and codes around zero, one with any number of inputs that runs one at a time and has state and attributes of every kind, one
// whose results data size, one whose inputs and results a model may leave out, one with any number of results, one that has results where its
// input has no elements, some of halves or codes alone. OCTET_TEST_FAULT names what one of them then does wrong.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "octet/plugin_cpp.h"

namespace {

using namespace octet::plugin;

bool has_fault(const char* name) {
  const char* fault = std::getenv("OCTET_TEST_FAULT");
  return fault != nullptr && std::strcmp(fault, name) == 0;
}

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
    one = static_cast<uint64_t>(a.i("one"));
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
    if (has_fault("DIVIDES_BY_AN_ATTRIBUTE") && call.inputs() % one != 0) busy += 1;
    for (int64_t i = 0; i < call.output(0).elements(); ++i) {
      float sum = 0;
      const uint64_t inputs = has_fault("KNOWS_THREE_INPUTS") ? 3 : call.inputs();
      for (uint64_t n = 0; n < inputs; ++n) sum += call.input(n).data<float>()[i];
      call.output(0).data<float>()[i] =
          busy == static_cast<float>(call.inputs()) ? sum / divisor : 0;
    }
  }

  std::string state;
  float divisor = 1;
  uint64_t one = 1;
  mutable float busy = 0;
};

// y = x / 2, of halves, or of codes too where the operator is called HalvesOrCodes.
struct Halves {
  explicit Halves(const Attributes&) {}
  void shapes(Shapes& s) const { s.same(0, 0); }
  // Subtracts one from the exponent; small numbers become 0.
  void reals(Call& call) const {
    constexpr uint16_t kSign = 0x8000, kExponent = 0x7c00, kOne = 0x0400;
    for (int64_t i = 0; i < call.input(0).elements(); ++i) {
      const uint16_t x = call.input(0).data<uint16_t>()[i];
      const bool keeps = (x & kExponent) == kExponent;
      const auto half = static_cast<uint16_t>((x & kExponent) > kOne ? x - kOne : x & kSign);
      call.output(0).data<uint16_t>()[i] = keeps ? x : half;
    }
  }
  void codes(Call& call) const {
    const Tensor x = call.input(0), y = call.output(0);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const float real = x.scale() * static_cast<float>(x.data<int8_t>()[i]) / 2;
      const float code = std::nearbyint(real / y.scale());
      y.data<int8_t>()[i] = static_cast<int8_t>(std::min(127.0f, std::max(-128.0f, code)));
    }
  }
};

// y = the sum of each row of x [n,m].
struct RowSums {
  explicit RowSums(const Attributes&) {}
  void shapes(Shapes& s) const { s.set(0, {s.input(0).dim(0)}); }
  void reals(Call& call) const {
    const Tensor x = call.input(0);
    if (has_fault("LEAVES_EMPTY_SUMS") && x.elements() == 0) return;
    const int64_t width = x.dim(1), begins = has_fault("BEGINS_WITH_THE_FIRST") ? 1 : 0;
    const int64_t rows = has_fault("DIVIDES_BY_WIDTH") ? x.elements() / width : x.dim(0);
    for (int64_t row = 0; row < rows; ++row) {
      const float* begin = x.data<float>() + row * width;
      const float first = begins > 0 ? *begin : 0;
      call.output(0).data<float>()[row] =
          std::accumulate(begin + std::min(begins, width), begin + width, first);
    }
  }
};

// x [n,m] in as many parts of equal rows as there are results.
struct Parts {
  explicit Parts(const Attributes&) {}
  void shapes(Shapes& s) const {
    const auto parts = static_cast<int64_t>(s.outputs());
    if (parts < 2 || s.input(0).dim(0) % parts != 0) throw Refused("parts of equal rows");
    for (uint64_t i = 0; i < s.outputs(); ++i)
      s.set(i, {s.input(0).dim(0) / parts, s.input(0).dim(1)});
  }
  void reals(Call& call) const {
    const float* x = call.input(0).data<float>();
    const uint64_t parts = has_fault("KNOWS_TWO_RESULTS") ? 2 : call.outputs();
    for (uint64_t i = 0; i < parts; ++i) {
      const int64_t count = call.output(i).elements();
      std::copy_n(x, count, call.output(i).data<float>());
      x += count;
    }
  }
};

// y = x + b * c where those are given; z = y / 2.
struct Shifted {
  explicit Shifted(const Attributes&) {}
  void shapes(Shapes& s) const {
    for (uint64_t i : {1, 2}) {
      if (s.input(i).given() && s.input(i).dim(0) == 0) throw Refused("b and c have a number");
    }
    s.same(0, 0);
    s.same(1, 0);
  }
  void reals(Call& call) const {
    const auto first = [&](uint64_t i) {
      const Tensor t = call.input(i);
      return has_fault("TAKES_ALL_AS_GIVEN") || t.given() ? t.data<float>()[0] : 1;
    };
    const Tensor x = call.input(0);
    const float by = call.input(1).given() || call.input(2).given() ? first(1) * first(2) : 0;
    for (int64_t i = 0; i < x.elements(); ++i) {
      const float y = x.data<float>()[i] + by;
      call.output(0).data<float>()[i] = y;
      call.output(1).data<float>()[i] = y / 2;
    }
  }
};

// The rows [n,4] whose first number is above a threshold, and which they are: what stands behind a detector.
struct RowsAbove {
  explicit RowsAbove(const Attributes& a) : threshold(a.f("threshold")) {}

  void shapes(Shapes& s) const {
    const int64_t rows = s.input(0).dim(0);
    if (s.input(0).dim(1) != 4) throw Refused("rows of four numbers");
    s.at_most(0, {rows, 4}, 0);
    s.at_most(1, {rows}, 0);
  }
  void reals(Call& call) const {
    keep(call, [&](int64_t i) { return call.input(0).data<float>()[i]; });
  }
  void codes(Call& call) const {
    const Tensor x = call.input(0);
    keep(call, [&](int64_t i) {
      return x.scale() * static_cast<float>(x.data<uint8_t>()[i] - x.zero_point());
    });
  }

  template <class Real>
  void keep(Call& call, const Real& real) const {
    const Tensor x = call.input(0);
    int64_t kept = 0;
    for (int64_t row = 0; row < x.dim(0); ++row) {
      if (!(real(4 * row) > threshold)) continue;
      for (int i = 0; i < 4; ++i) call.output(0).data<float>()[4 * kept + i] = real(4 * row + i);
      call.output(1).data<int64_t>()[kept++] = row;
    }
    if (has_fault("SAYS_MORE_THAN_ITS_RULE")) kept = x.dim(0) + 1;
    static int64_t calls = 0;
    if (has_fault("SIZES_CHANGE")) kept -= std::min(kept, ++calls % 2);
    if (has_fault("COUNTS_WHAT_IT_DID_NOT_WRITE")) kept = x.dim(0);
    call.set_dims(0, {kept, 4});
    if (!has_fault("SETS_ONE_SIZE")) call.set_dims(1, {kept});
  }

  float threshold;
};

void add_shifted(Library& library) {
  library.add(Operator<Shifted>("org.several", "Shifted", 1)
                  .input({"x", 0, 1})
                  .input({"b", OCTET_PORT_OPTIONAL, 1, 1})
                  .input({"c", OCTET_PORT_OPTIONAL, 1, 1})
                  .output({"y", OCTET_PORT_OPTIONAL, 1})
                  .output({"z", OCTET_PORT_OPTIONAL, 1})
                  .shapes<&Shifted::shapes>()
                  .combination<&Shifted::reals>("reals", {f32(), f32(), f32()}, {f32(), f32()})
                  .example({{2, 3}, {1}, {1}}));
}

void add_rows(Library& library) {
  library.add(Operator<RowSums>("org.several", "RowSums", 1)
                  .input({"x", 0, 2, 2})
                  .output({"y", 0, 1, 1})
                  .shapes<&RowSums::shapes>()
                  .combination<&RowSums::reals>("reals", {f32()}, {f32()})
                  .example({{3, 5}}));
  library.add(Operator<Parts>("org.several", "Parts", 1)
                  .input({"x", 0, 2, 2})
                  .output({"y", OCTET_PORT_VARIADIC, 2, 2})
                  .shapes<&Parts::shapes>()
                  .combination<&Parts::reals>("reals", {f32()}, {f32()})
                  .example({{6, 5}}));
}

void add_mix(Library& library) {
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
}

void add_halves(Library& library) {
  const octet_plugin_format half = format(OCTET_TYPE_F16);
  library.add(Operator<Halves>("org.several", "Halves", 1)
                  .input({"x", 0, 4, 4})
                  .output({"y", 0, 4, 4})
                  .shapes<&Halves::shapes>()
                  .combination<&Halves::reals>("halves", {half}, {half}));
  library.add(Operator<Halves>("org.several", "HalvesOrCodes", 1)
                  .input({"x", 0, 4, 4})
                  .output({"y", 0, 4, 4})
                  .shapes<&Halves::shapes>()
                  .combination<&Halves::reals>("halves", {half}, {half})
                  .combination<&Halves::codes>("int8", {symmetric(s8())}, {symmetric(s8())}));
  library.add(Operator<Halves>("org.several", "CodesAlone", 1)
                  .input({"x", 0, 4, 4})
                  .output({"y", 0, 4, 4})
                  .shapes<&Halves::shapes>()
                  .combination<&Halves::codes>("int8", {symmetric(s8())}, {symmetric(s8())}));
}

void add_rows_above(Library& library) {
  library.add(Operator<RowsAbove>("org.several", "RowsAbove", 1)
                  .real("threshold", 0)
                  .input({"x", 0, 2, 2})
                  .output({"y", OCTET_PORT_DATA_SIZED, 2, 2})
                  .output({"rows", OCTET_PORT_DATA_SIZED, 1, 1})
                  .shapes<&RowsAbove::shapes>()
                  .combination<&RowsAbove::reals>("reals", {f32()}, {f32(), s64()})
                  .combination<&RowsAbove::codes>("int8", {u8()}, {f32(), s64()})
                  .example({{17, 4}}));
}

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
  add_mix(library);
  add_halves(library);
  add_rows(library);
  add_shifted(library);
  add_rows_above(library);
  return library;
}

}  // namespace

OCTET_PLUGIN(make())
