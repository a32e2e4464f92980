// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/recurrent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/checked.h"
#include "core/math.h"
#include "core/rounding.h"
#include "ops/attributes/recurrent.h"
#include "ops/shared/axes.h"
#include "ops/shared/dot.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

constexpr auto kMalformed = Error::Code::invalid_model;

struct NamedFunction {
  std::string_view name;
  f32 (*call)(f32 x, f32 alpha, f32 beta);
  int parameters;  // 0, 1: alpha, 2: alpha and beta
  f32 alpha, beta;
};

f32 elu(f32 x, f32 alpha, f32) { return x < 0.0f ? alpha * (math_exp(x) - 1.0f) : x; }
f32 softplus(f32 x, f32, f32) {
  return std::max(x, 0.0f) + math_log(1.0f + math_exp(-std::fabs(x)));
}

constexpr std::array kFunctions = {
    NamedFunction{"Affine", [](f32 x, f32 a, f32 b) { return a * x + b; }, 2, 1.0f, 0.0f},
    NamedFunction{"Elu", elu, 1, 1.0f, 0.0f},
    NamedFunction{"HardSigmoid", math_hard_sigmoid, 2, 0.2f, 0.5f},
    NamedFunction{"LeakyRelu", [](f32 x, f32 a, f32) { return x < 0.0f ? a * x : x; }, 1, 0.01f,
                  0.0f},
    NamedFunction{"Relu", [](f32 x, f32, f32) { return std::max(x, 0.0f); }, 0, 0.0f, 0.0f},
    NamedFunction{"ScaledTanh", [](f32 x, f32 a, f32 b) { return a * math_tanh(b * x); }, 2, 1.0f,
                  1.0f},
    NamedFunction{"Sigmoid", [](f32 x, f32, f32) { return math_sigmoid(x); }, 0, 0.0f, 0.0f},
    NamedFunction{"Softplus", softplus, 0, 0.0f, 0.0f},
    NamedFunction{"Softsign", [](f32 x, f32, f32) { return x / (1.0f + std::fabs(x)); }, 0, 0.0f,
                  0.0f},
    NamedFunction{"Tanh", [](f32 x, f32, f32) { return math_tanh(x); }, 0, 0.0f, 0.0f},
    NamedFunction{"ThresholdedRelu", [](f32 x, f32 a, f32) { return x > a ? x : 0.0f; }, 1, 1.0f,
                  0.0f},
};

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

const NamedFunction& function_of(const std::string& name) {
  for (const NamedFunction& function : kFunctions) {
    if (lower(std::string(function.name)) == lower(name)) return function;
  }
  fail(Error::Code::unsupported, "the activation '{}' is not known", name);
}

std::vector<std::string> activation_names(const Node& node, const RecurrentKind& kind,
                                          s64 directions) {
  std::vector<std::string> names;
  if (auto given = attribute_of<&RecurrentAttributes::activations>(node)) {
    names = *std::move(given);
  } else {
    for (s64 d = 0; d < directions; ++d) {
      names.insert(names.end(), kind.default_activations.begin(), kind.default_activations.end());
    }
  }
  const s64 wanted = directions * std::ssize(kind.default_activations);
  if (std::ssize(names) != wanted)
    fail(kMalformed, "attribute 'activations' has {} names, expected {}", names.size(), wanted);
  return names;
}

void require_input(const Inference& inference, size_t i, const Shape& wanted) {
  if (!inference.has_input(i) || inference.inputs[i].shape == wanted) return;
  fail(kMalformed, "input {} is {}, expected {}", i, to_string(inference.inputs[i].shape),
       to_string(wanted));
}

// One direction of all sequences.
class Walk {
 public:
  Walk(const Eval& eval, const RecurrentKind& kind, const RecurrentMultipliers& multipliers = {})
      : kind_(kind),
        multipliers_(multipliers),
        g_(recurrent_geometry(eval.node, eval.inputs[kRecX].shape, eval.inputs[kRecR].shape)),
        functions_(recurrent_functions(eval.node, kind, g_.directions)),
        x_(eval, kRecX),
        w_(eval, kRecW),
        r_(eval, kRecR),
        bias_(eval, kRecB),
        initial_h_(eval, kRecInitialH),
        initial_c_(eval, kRecInitialC),
        peepholes_(eval, kRecPeepholes),
        lengths_(read_ints(eval, kRecLengths)) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (i < eval.outputs.size() && eval.outputs[i].data != nullptr)
        outputs_[i].emplace(eval.outputs[i]);
    }
    clip_ = attribute_of<&RecurrentAttributes::clip>(eval.node);
  }

  void run(void (*cell)(const CellStep&)) {
    for (s64 d = 0; d < g_.directions; ++d) {
      for (s64 n = 0; n < g_.batch; ++n) run_sequence(d, n, cell);
    }
    for (auto& output : outputs_) {
      if (output) output->store();
    }
  }

 private:
  CellStep step_of(s64 d) {
    const s64 rows = kind_.gates * g_.hidden;
    CellStep step;
    step.input = g_.input;
    step.hidden = g_.hidden;
    step.gates = kind_.gates;
    step.clip = clip_;
    step.functions = functions_.data() + d * std::ssize(kind_.default_activations);
    step.w = w_.data() + d * rows * g_.input;
    step.r = r_.data() + d * rows * g_.hidden;
    if (bias_) step.bias = bias_.data() + d * 2 * rows;
    if (peepholes_) step.peepholes = peepholes_.data() + d * 3 * g_.hidden;
    if (!multipliers_.x.empty()) {
      step.x_multipliers = multipliers_.x.data() + d * rows;
      step.state_multipliers = multipliers_.state.data() + d * rows;
      step.state_scale = multipliers_.state_scale;
    }
    sums_.resize(static_cast<size_t>(rows));
    next_.resize(static_cast<size_t>(g_.hidden));
    rounded_.resize(next_.size());
    step.sums = sums_.data();
    step.next = next_.data();
    step.rounded = rounded_.data();
    return step;
  }

  s64 length_of(s64 n) const {
    if (lengths_.empty()) return g_.steps;
    return checked_length(lengths_[static_cast<size_t>(n)], n, g_.steps);
  }

  void load(std::vector<f32>& state, const FloatInput& initial, s64 at) const {
    state.assign(static_cast<size_t>(g_.hidden), 0.0f);
    if (initial) std::copy_n(initial.data() + at, g_.hidden, state.begin());
  }

  void store(size_t output, const std::vector<f32>& state, s64 at) {
    if (outputs_[output]) std::copy(state.begin(), state.end(), outputs_[output]->data() + at);
  }

  void run_sequence(s64 d, s64 n, void (*cell)(const CellStep&)) {
    CellStep step = step_of(d);
    load(h_, initial_h_, g_.state_at(d, n));
    load(c_, initial_c_, g_.state_at(d, n));
    step.h = h_.data();
    step.c = c_.data();
    const bool backwards = g_.reverse || d == 1;
    const s64 length = length_of(n);
    for (s64 t = 0; t < length; ++t) {
      const s64 time = backwards ? length - 1 - t : t;
      step.x = x_.data() + g_.x_at(time, n);
      cell(step);
      store(0, h_, g_.y_at(time, d, n));
    }
    const std::vector<f32> nothing(static_cast<size_t>(g_.hidden), 0.0f);
    for (s64 time = length; time < g_.steps; ++time) store(0, nothing, g_.y_at(time, d, n));
    store(1, h_, g_.state_at(d, n));
    if (kind_.has_cell) store(2, c_, g_.state_at(d, n));
  }

  const RecurrentKind& kind_;
  const RecurrentMultipliers multipliers_;
  const RecurrentGeometry g_;
  std::vector<CellFunction> functions_;
  FloatInput x_, w_, r_, bias_, initial_h_, initial_c_, peepholes_;
  std::vector<s64> lengths_;
  std::array<std::optional<FloatOutput>, 3> outputs_;
  f32 clip_ = 0.0f;
  std::vector<f32> h_, c_, sums_, next_, rounded_;
};

// Of codes less their zero points: 24 bits hold each product, and 53 the sum of any number of them.
f32 exact_dot(const f32* codes, const f32* others, s64 count) {
  constexpr s64 kSums = 4;  // at once
  f64 sums[kSums] = {};
  s64 i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (s64 k = 0; k < kSums; ++k) sums[k] += f64{codes[i + k] * others[i + k]};
  }
  for (; i < count; ++i) sums[0] += f64{codes[i] * others[i]};
  return static_cast<f32>(sums[0] + sums[1] + sums[2] + sums[3]);
}

}  // namespace

const RecurrentKind& recurrent_kind(std::string_view op) {
  static const RecurrentKind lstm{4, {"Sigmoid", "Tanh", "Tanh"}, true};
  static const RecurrentKind gru{3, {"Sigmoid", "Tanh"}, false};
  static const RecurrentKind rnn{1, {"Tanh"}, false};
  return op == "LSTM" ? lstm : op == "GRU" ? gru : rnn;
}

// Parameters are listed for the functions that take them, in the order of these.
std::vector<CellFunction> recurrent_functions(const Node& node, const RecurrentKind& kind,
                                              s64 directions) {
  const std::vector<f32> alphas = attribute_of<&RecurrentAttributes::activation_alpha>(node);
  const std::vector<f32> betas = attribute_of<&RecurrentAttributes::activation_beta>(node);
  size_t alpha = 0, beta = 0;
  std::vector<CellFunction> functions;
  for (const std::string& name : activation_names(node, kind, directions)) {
    const NamedFunction& named = function_of(name);
    CellFunction function{named.name, named.call, named.alpha, named.beta};
    if (named.parameters > 0 && alpha < alphas.size()) function.alpha = alphas[alpha++];
    if (named.parameters > 1 && beta < betas.size()) function.beta = betas[beta++];
    functions.push_back(function);
  }
  return functions;
}

s64 checked_length(s64 length, s64 sequence, s64 steps) {
  if (length >= 0 && length <= steps) return length;
  fail(Error::Code::invalid_argument, "sequence {} has length {} of {}", sequence, length, steps);
}

RecurrentGeometry recurrent_geometry(const Node& node, const Shape& x, const Shape& r) {
  if (x.rank() != 3 || r.rank() != 3)
    fail(kMalformed, "the input is {} and R is {}, expected rank 3", to_string(x), to_string(r));
  RecurrentGeometry g;
  const auto attributes = attributes_of<RecurrentShapeAttributes>(node);
  g.reverse = attributes.direction == RecurrentDirection::reverse;
  g.directions = attributes.direction == RecurrentDirection::bidirectional ? 2 : 1;
  g.batch_first = attributes.layout;
  g.steps = x[g.batch_first ? 1 : 0];
  g.batch = x[g.batch_first ? 0 : 1];
  g.input = x[2];
  g.hidden = r[2];
  return g;
}

const f32* CellStep::factors(const f32* state) const {
  if (state_multipliers == nullptr) return state;
  for (s64 i = 0; i < hidden; ++i) {
    rounded[i] =
        static_cast<f32>(quantize(state[i], state_scale, 0, -kMostStateCode, kMostStateCode));
  }
  return rounded;
}

f32 CellStep::from_input(s64 row) const {
  const f32* of = w + row * input;
  const f32 sum =
      x_multipliers == nullptr ? dot(of, x, input) : exact_dot(of, x, input) * x_multipliers[row];
  return bias == nullptr ? sum : sum + bias[row];
}

f32 CellStep::from_state(s64 row, const f32* factors) const {
  const f32* of = r + row * hidden;
  const f32 sum = state_multipliers == nullptr
                      ? dot(of, factors, hidden)
                      : exact_dot(of, factors, hidden) * state_multipliers[row];
  return bias == nullptr ? sum : sum + bias[gates * hidden + row];
}

f32 CellStep::clipped(f32 value) const { return clip > 0.0f ? bounded(value, -clip, clip) : value; }

void infer_recurrent(Inference& inference, const RecurrentKind& kind) {
  for (size_t i : {kRecX, kRecW, kRecR}) require_dtype(inference, i, DtypeClass::real);
  const Dtype dtype = inference.inputs[kRecX].dtype;
  const RecurrentGeometry g = recurrent_geometry(inference.node, inference.inputs[kRecX].shape,
                                                 inference.inputs[kRecR].shape);
  recurrent_functions(inference.node, kind, g.directions);
  const auto hidden = attribute_of<&RecurrentShapeAttributes::hidden_size>(inference.node);
  if (hidden.value_or(g.hidden) != g.hidden)
    fail(kMalformed, "attribute 'hidden_size' is {}, R has {}", *hidden, g.hidden);
  const auto rows = checked_mul(kind.gates * 2, g.hidden);
  if (!rows) fail(kMalformed, "the hidden size is {}", g.hidden);
  require_input(inference, kRecW, Shape{g.directions, *rows / 2, g.input});
  require_input(inference, kRecR, Shape{g.directions, *rows / 2, g.hidden});
  require_input(inference, kRecB, Shape{g.directions, *rows});
  require_input(inference, kRecLengths, Shape{g.batch});
  require_input(inference, kRecInitialH, g.state_shape());
  require_input(inference, kRecInitialC, g.state_shape());
  require_input(inference, kRecPeepholes, Shape{g.directions, 3 * g.hidden});
  for (size_t i = 0; i < inference.inputs.size(); ++i) {
    if (inference.has_input(i) && i != kRecLengths) require_dtype(inference, i, DtypeClass::real);
  }
  const Dtype lengths =
      inference.has_input(kRecLengths) ? inference.inputs[kRecLengths].dtype : Dtype::s32;
  if (lengths != Dtype::s32 && lengths != Dtype::s64)
    fail(kMalformed, "sequence_lens is {}, expected s32", dtype_name(lengths));
  for (size_t i = 0; i < inference.node.outputs.size(); ++i)
    inference.output(dtype, i == 0 ? g.y_shape() : g.state_shape());
}

void eval_recurrent(const Eval& eval, const RecurrentKind& kind, void (*cell)(const CellStep&)) {
  Walk(eval, kind).run(cell);
}

void eval_recurrent_of_codes(const Eval& eval, const RecurrentKind& kind,
                             void (*cell)(const CellStep&),
                             const RecurrentMultipliers& multipliers) {
  Walk(eval, kind, multipliers).run(cell);
}

}  // namespace octet
