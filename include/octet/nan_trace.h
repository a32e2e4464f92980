// SPDX-License-Identifier: Apache-2.0
// Where NaN and infinities of a run come from: the first layer, and the first element of what it gives. How NaN passes through layers
// is in docs/numerics.md, section 8.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet {

// A value that holds them, while nothing before it does.
struct NotFiniteOrigin {
  std::string
      layer;  // that computes it, in the order of execution; empty: it is an input of the engine
  std::string op;
  std::string value;             // its name
  std::vector<int64_t> element;  // index of the first one
  int64_t count = 0;             // of them
  int64_t elements = 0;          // of the value
  std::string
      constant;  // of the layer's, that holds such a number itself: the model is damaged; empty: none
};

struct NanTrace {
  std::optional<NotFiniteOrigin> nan, infinity;
  // NaNs that met a quantization, which writes the code of 0 for each: what comes after is finite and looks healthy.
  int64_t quantized = 0;
  std::string quantizing_layer;  // the first of those

  bool found() const { return nan || infinity; }
};

struct TraceOptions {
  int threads = 1;
  std::string device = "cpu";
};

// Runs the engine once more and looks at every real value that a layer computes. In the bodies of control flow nothing is looked at;
// their nodes are layers here.
NanTrace trace_nan(const Engine& engine, std::span<const Tensor> inputs,
                   const TraceOptions& options = {});

// Whether outputs may be numbers although a layer gave NaN: real values become codes behind a layer that computed them, or no output
// is real. Where not, outputs that are finite say that all is well.
bool may_hide_nan(const Engine& engine);

// Whether any element is NaN or infinite.
bool any_not_finite(std::span<const Tensor> tensors);

}  // namespace octet
