// SPDX-License-Identifier: Apache-2.0
// GridSample(x[N, C, D...], grid[N, O..., r]): y[N, C, O...] is x at the positions that the grid gives, each axis from -1 to 1
// and the last axis of x first.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/check.h"
#include "core/rounding.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

enum class Mode : u8 { nearest, linear, cubic };
enum class Padding : u8 { zeros, border, reflection };

constexpr f32 kFarthest = 1 << 24;  // positions beyond are as far outside as this one
constexpr f32 kCubicA = -0.75f;
constexpr int kMaxTaps = 4;

struct Sampling {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

void parse(NodeParser& parser) {
  const std::string mode = parser.node.attrs.s("mode", "linear");
  if (mode == "bilinear") parser.node.attrs.set("mode", std::string("linear"));
  if (mode == "bicubic") parser.node.attrs.set("mode", std::string("cubic"));
}

template <size_t N>
size_t choice(const Node& node, std::string_view attr, const std::array<const char*, N>& names,
              size_t otherwise) {
  const std::string value = node.attrs.s(attr, names[otherwise]);
  const auto at = std::find(names.begin(), names.end(), value);
  if (at != names.end()) return static_cast<size_t>(at - names.begin());
  fail(Error::Code::unsupported, "attribute '{}' is '{}', expected one of {}", attr, value,
       fmt::join(names, ", "));
}

Sampling sampling_of(const Node& node) {
  constexpr std::array<const char*, 3> kModes = {"nearest", "linear", "cubic"};
  constexpr std::array<const char*, 3> kPaddings = {"zeros", "border", "reflection"};
  return {static_cast<Mode>(choice(node, "mode", kModes, 1)),
          static_cast<Padding>(choice(node, "padding_mode", kPaddings, 0)),
          node.attrs.i("align_corners", 0) != 0};
}

void infer(Inference& inference) {
  const Shape &x = inference.inputs[0].shape, &grid = inference.inputs[1].shape;
  require_dtype(inference, 0, DtypeClass::real);
  require_dtype(inference, 1, DtypeClass::real);
  sampling_of(inference.node);
  const int rank = x.rank();
  if (rank < 3 || grid.rank() != rank || grid[0] != x[0] || grid[rank - 1] != rank - 2) {
    fail(Error::Code::invalid_model, "the input is {} and the grid {}; they do not fit",
         to_string(x), to_string(grid));
  }
  Shape output{x[0], x[1]};
  for (int i = 1; i < rank - 1; ++i) output.push_back(grid[i]);
  if (x.elements() == 0 && output.elements() != 0) {
    fail(Error::Code::invalid_model, "nothing can be sampled from {}", to_string(x));
  }
  inference.output(inference.inputs[0].dtype, output);
}

// Mirrors at the borders until x lies between them.
f32 reflected(f32 x, f32 low, f32 high) {
  const f32 range = high - low;
  if (range <= 0.0f) return low;
  const f32 distance = x < low ? low - x : x - low;
  const f32 rest = std::fmod(distance, 2.0f * range);
  return rest <= range ? low + rest : high - (rest - range);
}

// One axis: which elements with which weights; index -1 is outside.
struct AxisTaps {
  int count = 1;
  std::array<s64, kMaxTaps> index{};
  std::array<f32, kMaxTaps> weight{1.0f};
};

class Axis {
 public:
  Axis(const Sampling& sampling, s64 size)
      : sampling_(sampling),
        size_(static_cast<f32>(size)),
        low_(sampling.align_corners ? 0.0f : -0.5f),
        high_(sampling.align_corners ? size_ - 1.0f : size_ - 0.5f) {}

  AxisTaps taps(f32 normalized) const {
    const f32 x = padded(position(normalized));
    AxisTaps taps;
    const f32 floor = std::floor(x);
    if (sampling_.mode == Mode::nearest) {
      taps.index[0] = index(x);
    } else if (sampling_.mode == Mode::linear) {
      taps.count = 2;
      taps.weight = {1.0f - (x - floor), x - floor, 0.0f, 0.0f};
    } else {
      taps.count = kMaxTaps;
      taps.weight = cubic(x - floor);
    }
    if (sampling_.mode == Mode::nearest) return taps;
    const f32 first = sampling_.mode == Mode::cubic ? floor - 1.0f : floor;
    for (int i = 0; i < taps.count; ++i) {
      taps.index[static_cast<size_t>(i)] = index(first + static_cast<f32>(i));
    }
    return taps;
  }

 private:
  f32 position(f32 normalized) const {
    f32 x = sampling_.align_corners ? (normalized + 1.0f) / 2.0f * (size_ - 1.0f)
                                    : ((normalized + 1.0f) * size_ - 1.0f) / 2.0f;
    x = clamp_f32(x, -kFarthest, size_ + kFarthest);
    return sampling_.mode == Mode::nearest ? std::nearbyint(x) : x;
  }

  f32 padded(f32 x) const {
    if (sampling_.padding == Padding::zeros || (x >= low_ && x <= high_)) return x;
    if (sampling_.padding == Padding::border) return clamp_f32(x, 0.0f, size_ - 1.0f);
    return reflected(x, low_, high_);
  }

  // Of a whole number.
  s64 index(f32 x) const {
    if (sampling_.padding == Padding::zeros && !(x >= 0.0f && x < size_)) return -1;
    if (sampling_.padding == Padding::reflection) x = reflected(x, low_, high_);
    return static_cast<s64>(clamp_f32(x, 0.0f, size_ - 1.0f));
  }

  static std::array<f32, kMaxTaps> cubic(f32 x) {
    const auto near = [](f32 d) { return ((kCubicA + 2) * d - (kCubicA + 3)) * d * d + 1; };
    const auto far = [](f32 d) {
      return ((kCubicA * d - 5 * kCubicA) * d + 8 * kCubicA) * d - 4 * kCubicA;
    };
    return {far(x + 1), near(x), near(1 - x), far(2 - x)};
  }

  Sampling sampling_;
  f32 size_, low_, high_;
};

// The sum over the product of the axes' taps, from axis `axis` on.
f32 sample(std::span<const AxisTaps> taps, const Shape& shape, const f32* image, s64 offset) {
  if (taps.empty()) return image[offset];
  const s64 size = shape[shape.rank() - static_cast<int>(taps.size())];
  f32 sum = 0.0f;
  for (int k = 0; k < taps[0].count; ++k) {
    const size_t tap = static_cast<size_t>(k);
    const s64 index = taps[0].index[tap];
    if (index < 0) continue;
    sum += taps[0].weight[tap] * sample(taps.subspan(1), shape, image, offset * size + index);
  }
  return sum;
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const Sampling sampling = sampling_of(eval.node);
  const int spatial = shape.rank() - 2;
  const s64 pixels = dims_product(shape, 2, shape.rank());
  const s64 points = dims_product(eval.outputs[0].shape, 2, shape.rank());
  const FloatInput x(eval, 0), grid(eval, 1);
  const FloatOutput y(eval.outputs[0]);
  std::vector<AxisTaps> taps(static_cast<size_t>(spatial));
  for (s64 at = 0; at < std::ssize(grid.values()) / spatial && !y.values().empty(); ++at) {
    for (int i = 0; i < spatial; ++i) {
      taps[static_cast<size_t>(i)] =
          Axis(sampling, shape[2 + i]).taps(grid[at * spatial + spatial - 1 - i]);
    }
    for (s64 c = 0; c < shape[1]; ++c) {
      const s64 plane = at / points * shape[1] + c;
      y[plane * points + at % points] = sample(taps, shape, x.data() + plane * pixels, 0);
    }
  }
  y.store();
}

// Each element is a sum over the taps of all axes.
f64 work(const Node&, TensorTypes, TensorTypes outputs) {
  const Shape& y = outputs[0].shape;
  return element_count(y) * std::pow(kMaxTaps, y.rank() - 2);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kGridSample{.name = "GridSample",
                                         .domain = "",
                                         .inputs = {2, 2},
                                         .outputs = {1, 1},
                                         .parse = parse,
                                         .infer = infer,
                                         .eval = eval,
                                         .traits = &kTraits};
}  // namespace octet
