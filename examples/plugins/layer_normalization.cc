// SPDX-License-Identifier: Apache-2.0
// LayerNormalization over the last dimension, as a plugin would bring it. Octet has this operator itself and says so when the plugin is
// loaded: the native one has kernels and gives codes. It is the shortest operator with weights.
#include <cmath>

#include "octet/plugin_cpp.h"

namespace {

using namespace octet::plugin;

struct LayerNormalization {
  explicit LayerNormalization(const Attributes& attributes) : epsilon(attributes.f("epsilon")) {}

  void shapes(Shapes& s) const {
    const Tensor x = s.input(0);
    for (int i = 1; i < 3; ++i) {
      if (s.input(i).dim(0) != x.dim(x.rank() - 1))
        throw Refused("scale and bias need one element for each of the last dimension");
    }
    s.same(0, 0);
  }

  void reals(Call& call) const {
    const Tensor x = call.input(0);
    const int64_t width = x.dim(x.rank() - 1);
    if (width == 0) return;
    const float* from = x.data<float>();
    const float* scale = call.input(1).data<float>();
    const float* bias = call.input(2).data<float>();
    float* to = call.output(0).data<float>();
    call.parallel(x.elements() / width, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        normalize(from + row * width, to + row * width, {scale, bias, width});
    });
  }

  struct Weights {
    const float *scale, *bias;
    int64_t width;
  };

  void normalize(const float* x, float* y, const Weights& w) const {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < w.width; ++i) sum += x[i];
    const double mean = sum / static_cast<double>(w.width);
    for (int64_t i = 0; i < w.width; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(w.width) + epsilon);
    for (int64_t i = 0; i < w.width; ++i)
      y[i] = static_cast<float>((x[i] - mean) * factor) * w.scale[i] + w.bias[i];
  }

  float epsilon;
};

Library make() {
  return std::move(
      Library("layer_normalization", "1.0.0")
          .add(Operator<LayerNormalization>("octet.examples", "LayerNormalization", 1)
                   .real("epsilon", 1e-5f)
                   .between(1e-12, 1)
                   .input({"x", 0, 1})
                   .input({"scale", 0, 1, 1})
                   .input({"bias", 0, 1, 1})
                   .output({"y", 0, 1})
                   .shapes<&LayerNormalization::shapes>()
                   .combination<&LayerNormalization::reals>("reals", {f32(), f32(), f32()}, {f32()})
                   .example({{2, 5, 16}, {16}, {16}})
                   .example({{1, 64}, {64}, {64}})));
}

}  // namespace

OCTET_PLUGIN(make())
