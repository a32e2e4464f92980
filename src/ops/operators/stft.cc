// SPDX-License-Identifier: Apache-2.0
// STFT(signal[B, L, 1 or 2], frame step, window?, frame length?) {onesided}: the transforms of frames that begin a step apart,
// each multiplied by the window. Exporters leave the last axis of real signals out, and ONNX Runtime takes them so.
#include <optional>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/fourier.h"

namespace octet {
namespace {

struct StftAttributes {
  std::optional<bool> onesided;  // absent: of real signals

  OCTET_ATTRIBUTES(onesided)
};

enum : size_t { kSignal, kStep, kWindow, kLength };
constexpr auto kInvalid = Error::Code::invalid_model;

struct Frames {
  s64 step = 1, length = 1, count = 0, bins = 0, parts = 1;
};

s64 single(const std::vector<s64>& values, std::string_view what) {
  if (values.size() == 1 && values[0] >= 1) return values[0];
  fail(kInvalid, "{} needs one value of at least 1", what);
}

// `window` < 0: there is none.
Frames frames_of(const Node& node, const Shape& signal, const std::vector<s64>& step,
                 const std::vector<s64>& length, s64 window) {
  const bool plain = signal.rank() == 2;
  if (!plain && (signal.rank() != 3 || signal[2] < 1 || signal[2] > 2)) {
    fail(kInvalid, "the signal is {}, expected [batch, length] or [batch, length, 1 or 2]",
         to_string(signal));
  }
  Frames f;
  f.step = single(step, "frame_step");
  f.parts = plain ? 1 : signal[2];
  if (length.empty() && window < 0) fail(kInvalid, "neither a window nor frame_length is given");
  f.length = length.empty() ? window : single(length, "frame_length");
  if (f.length < 1 || f.length > signal[1] || (window >= 0 && window != f.length))
    fail(kInvalid, "frames of {} do not fit a signal of {} and a window of {}", f.length, signal[1],
         window);
  f.count = (signal[1] - f.length) / f.step + 1;
  const std::optional<bool> given = attribute_of<&StftAttributes::onesided>(node);
  const bool onesided = given.value_or(true);
  if (onesided && f.parts == 2 && given)
    fail(kInvalid, "a one-sided transform needs a real signal");
  f.bins = onesided && f.parts == 1 ? f.length / 2 + 1 : f.length;
  return f;
}

void infer(Inference& inference) {
  const TensorType& signal = inference.inputs[kSignal];
  require_dtype(inference, kSignal, DtypeClass::real);
  std::vector<s64> length;
  if (inference.has_input(kLength)) length = inference.required_ints(kLength, "frame_length");
  s64 window = -1;
  if (inference.has_input(kWindow)) {
    require_dtype(inference, kWindow, DtypeClass::real);
    window = inference.inputs[kWindow].shape.elements();
  }
  const Frames f = frames_of(inference.node, signal.shape,
                             inference.required_ints(kStep, "frame_step"), length, window);
  inference.output(signal.dtype, Shape{signal.shape[0], f.count, f.bins, 2});
}

template <class T>
void transform(const Frames& f, const Shape& shape, const T* signal, const FloatInput& window,
               T* y) {
  FourierLine line(f.length, false);
  const auto part = [](T value) { return static_cast<f64>(static_cast<Wide<T>>(value)); };
  for (s64 frame = 0; frame < shape[0] * f.count; ++frame) {
    const s64 first = frame / f.count * shape[1] + frame % f.count * f.step;
    for (s64 i = 0; i < f.length; ++i) {
      const T* x = signal + (first + i) * f.parts;
      const f64 weight = window ? static_cast<f64>(window[i]) : 1.0;
      line.set(i, {part(x[0]) * weight, f.parts == 2 ? part(x[1]) * weight : 0.0});
    }
    for (s64 k = 0; k < f.bins; ++k) {
      const Complex value = line.result(k);
      *y++ = static_cast<T>(static_cast<Wide<T>>(value.re));
      *y++ = static_cast<T>(static_cast<Wide<T>>(value.im));
    }
  }
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[kSignal].shape;
  if (eval.outputs[0].shape.elements() == 0) return;
  const FloatInput window(eval, kWindow);
  const Frames f = frames_of(eval.node, shape, read_ints(eval, kStep), read_ints(eval, kLength),
                             window ? std::ssize(window.values()) : -1);
  require_shape(eval.outputs[0].shape, Shape{shape[0], f.count, f.bins, 2});
  visit_real(eval.outputs[0].dtype, [&]<class T>() {
    transform(f, shape, eval.inputs[kSignal].as<T>().data(), window,
              eval.outputs[0].as<T>().data());
  });
}

// Each element is a sum over a frame, of which a one-sided result has half.
f64 work(const Node&, TensorTypes, TensorTypes outputs) {
  const Shape& y = outputs[0].shape;
  return element_count(y) * 2 * static_cast<f64>(y[2]);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kSTFT{
    .name = "STFT", .inputs = {2, 4}, .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
