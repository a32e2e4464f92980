// SPDX-License-Identifier: Apache-2.0
// CenterCropPad(x, shape) {axes}: cuts out or surrounds with zeros, so that x stays in the center.
#include <cstring>
#include <numeric>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

struct CenterCropPadAttributes {
  std::optional<std::vector<s64>> axes;

  OCTET_ATTRIBUTES(axes)
};

void infer(Inference& inference) {
  Shape shape = inference.inputs[0].shape;
  std::vector<s64> all(static_cast<size_t>(shape.rank()));
  std::iota(all.begin(), all.end(), s64{0});
  const std::vector<int> axes = normalize_axes(
      attribute_of<&CenterCropPadAttributes::axes>(inference.node).value_or(all), shape.rank());
  const std::vector<s64> wanted = inference.required_ints(1, "the shape");
  if (wanted.size() != axes.size()) {
    fail(Error::Code::invalid_model, "the shape has {} values for {} axes", wanted.size(),
         axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (wanted[i] < 0) fail(Error::Code::invalid_model, "the shape has {}", wanted[i]);
    shape[axes[i]] = wanted[i];
  }
  inference.output(inference.inputs[0].dtype, shape);
}

// Where output index 0 lies in the input: half the difference, rounded down on either side.
s64 shift(s64 in, s64 out) { return out > in ? -((out - in) / 2) : (in - out) / 2; }

void eval(const Eval& eval) {
  const Shape &in = eval.inputs[0].shape, &out = eval.outputs[0].shape;
  const std::vector<s64> strides = dense_strides(in);
  visit_size(eval.outputs[0].dtype, [&]<class T>() {
    const T* src = static_cast<const T*>(eval.inputs[0].data);
    T* dst = static_cast<T*>(eval.outputs[0].data);
    const s64 count = out.elements();
    for (s64 at = 0; at < count; ++at) {
      s64 rest = at, from = 0;
      bool inside = true;
      for (int i = out.rank() - 1; i >= 0; --i) {
        const s64 index = rest % out[i] + shift(in[i], out[i]);
        inside = inside && index >= 0 && index < in[i];
        if (inside) from += index * strides[static_cast<size_t>(i)];
        rest /= out[i];
      }
      dst[at] = inside ? src[from] : T{};
    }
  });
}

}  // namespace

extern constinit const OpDef kCenterCropPad{
    .name = "CenterCropPad", .inputs = {2, 2}, .infer = infer, .eval = eval};
}  // namespace octet
