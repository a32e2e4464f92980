// SPDX-License-Identifier: Apache-2.0
// Functions of reals, element by element, with or without the quantization of what they give; and Cast.
#include <algorithm>
#include <cmath>

#include "backends/cuda/families/map/elements.h"
#include "backends/cuda/lower/code_reals.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/halves.h"
#include "backends/cuda/lower/integers.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/functions.h"
#include "ops/quantized/qfunction.h"
#include "ops/shared/activation.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

struct Function {
  std::string_view op, body;
};

// In the words of device/snippets.cuh.
constexpr Function kFunctions[] = {{"Abs", "fabsf(a)"},
                                   {"Add", "f32_add(a, b)"},
                                   {"Ceil", "ceilf(a)"},
                                   {"Div", "f32_div(a, b)"},
                                   {"Erf", "math_erf(a)"},
                                   {"Exp", "math_exp(a)"},
                                   {"Floor", "floorf(a)"},
                                   {"HardSwish", "math_hard_swish(a)"},
                                   {"Log", "math_log(a)"},
                                   {"Max", "larger(a, b)"},
                                   {"Min", "smaller(a, b)"},
                                   {"Mish", "real_mish(a)"},
                                   {"Mul", "f32_mul(a, b)"},
                                   {"Neg", "-a"},
                                   {"PRelu", "a < 0.0f ? f32_mul(a, b) : a"},
                                   {"Reciprocal", "f32_div(1.0f, a)"},
                                   {"Relu", "a < 0.0f ? 0.0f : a"},
                                   {"Round", "rintf(a)"},
                                   {"Sigmoid", "math_sigmoid(a)"},
                                   {"Sign", "a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a"},
                                   {"Softplus", "real_softplus(a)"},
                                   {"Softsign", "f32_div(a, f32_add(1.0f, fabsf(a)))"},
                                   {"Sqrt", "f32_sqrt(a)"},
                                   {"Sub", "f32_sub(a, b)"},
                                   {"Tanh", "math_tanh(a)"}};

using RealOfNode = f32 (*)(const Node&);
struct FunctionOfAttributes {
  std::string_view op, body;
  RealOfNode first = nullptr, second = nullptr;
};
constexpr FunctionOfAttributes kFunctionsOfAttributes[] = {
    {"Celu", "real_celu(a, {0})", attribute_of<&AlphaAttributes::alpha>},
    {"Elu", "a < 0.0f ? f32_mul({0}, f32_sub(math_exp(a), 1.0f)) : a",
     attribute_of<&AlphaAttributes::alpha>},
    {"HardSigmoid", "math_hard_sigmoid(a, {0}, {1})", attribute_of<&HardSigmoidAttributes::alpha>,
     attribute_of<&HardSigmoidAttributes::beta>},
    {"LeakyRelu", "leaky(a, {0})", attribute_of<&LeakyReluAttributes::alpha>},
    {"Selu", "f32_mul({1}, a > 0.0f ? a : f32_mul({0}, f32_sub(math_exp(a), 1.0f)))",
     attribute_of<&SeluAttributes::alpha>, attribute_of<&SeluAttributes::gamma>},
    {"Shrink", "a < -{0} ? f32_add(a, {1}) : a > {0} ? f32_sub(a, {1}) : 0.0f",
     attribute_of<&ShrinkAttributes::lambd>, attribute_of<&ShrinkAttributes::bias>},
    {"Swish", "math_swish(a, {0})", attribute_of<&AlphaAttributes::alpha>},
    {"ThresholdedRelu", "a > {0} ? a : 0.0f", attribute_of<&AlphaAttributes::alpha>}};

std::string body_with_attributes(const Node& node, const FunctionOfAttributes& function) {
  const auto text = [&](RealOfNode attribute) {
    return attribute == nullptr ? std::string() : exact_text(attribute(node));
  };
  return fmt::format(fmt::runtime(function.body), text(function.first), text(function.second));
}

// The bound's comparison, or nothing where there is none; "?" where it is not constant.
std::string bounded(const LowerRequest& request, size_t i, std::string_view sign,
                    const std::string& x) {
  if (!request.has_input(i)) return x;
  const Tensor* bound = request.constant(i);
  if (bound == nullptr || bound->dtype() != Dtype::f32 || bound->elements() != 1) return {};
  const std::string value = exact_text(bound->as<f32>()[0]);
  return fmt::format("({} {} {} ? {} : {})", x, sign, value, value, x);
}

std::string clip_text(const LowerRequest& request) {
  const std::string low = bounded(request, 1, "<", "a");
  return low.empty() ? low : bounded(request, 2, ">", low);
}

// The definition computes in f64 and rounds once more. Of these powers no exact result lies so near to the middle between two f32 that what
// f64 loses would matter: they are the product, root or quotient of f32. Zero and -infinity have roots of their own in C's pow().
std::string power_text(f32 exponent) {
  if (exponent == 2.0f) return "f32_mul(a, a)";
  if (exponent == 1.0f) return "a";
  if (exponent == 0.0f) return "1.0f";
  if (exponent == -1.0f) return "f32_div(1.0f, a)";
  if (exponent == 0.5f) return "a == 0.0f ? 0.0f : a == -INFINITY_F32 ? INFINITY_F32 : f32_sqrt(a)";
  return {};
}

std::string pow_text(const LowerRequest& request) {
  const Tensor* exponent = request.constant(1);
  const bool is_one =
      exponent != nullptr && exponent->dtype() == Dtype::f32 && exponent->elements() == 1;
  if (!is_one || request.outputs[0].shape != request.inputs[0].shape) return {};
  return power_text(exponent->as<f32>()[0]);
}

// What passes fold into Add.
std::string activated(const Node& node, std::string body) {
  const Activation activation = activation_of(node);
  if (activation.is_clamp())
    return fmt::format("bounded({}, {}, {})", body, exact_text(activation.min),
                       exact_text(activation.max));
  if (activation.kind == Activation::Kind::leaky_relu)
    return fmt::format("leaky({}, {})", body, exact_text(activation.alpha));
  return body;
}

// The function of `a` (and `b`) that the node computes; empty where there is none.
std::string body_of(const LowerRequest& request, const Node& node) {
  const std::string_view op = node.op->name;
  if (op == "Clip") return clip_text(request);
  if (op == "Pow") return pow_text(request);
  if (op == "Gelu")
    return attribute_of<&GeluAttributes::approximate>(node) == GeluForm::tanh ? "math_gelu_tanh(a)"
                                                                              : "math_gelu(a)";
  if (op == "RoundTo")
    return attribute_of<&CastAttributes::to>(node) == Dtype::f16 ? "real_of_f16(f16_of(a))"
                                                                 : "real_of_bf16(bf16_of(a))";
  for (const FunctionOfAttributes& function : kFunctionsOfAttributes) {
    if (function.op == op) return body_with_attributes(node, function);
  }
  for (const Function& function : kFunctions) {
    if (function.op == op) return activated(node, std::string(function.body));
  }
  return {};
}

bool has_two_operands(std::string_view op) {
  constexpr std::string_view kOperators[] = {"Add", "Div", "Max", "Min", "Mul", "PRelu", "Sub"};
  return std::ranges::find(kOperators, op) != std::end(kOperators);
}

// "real_of_f16(a)"
std::string widened(Dtype type, std::string_view value) {
  if (type == Dtype::f16) return fmt::format("real_of_f16({})", value);
  if (type == Dtype::bf16) return fmt::format("real_of_bf16({})", value);
  return std::string(value);
}

std::string rounded_text(const Node& round, std::string_view value) {
  const bool f16 = attribute_of<&CastAttributes::to>(round) == Dtype::f16;
  return fmt::format(
      fmt::runtime(f16 ? "real_of_f16(rounded_f16({}))" : "real_of_bf16(rounded_bf16({}))"), value);
}

// The real -> what is stored, of a chain's last part.
std::string stored(const Graph& body, const Node& last, std::string_view value) {
  if (is_narrowing(body, last)) {
    const Dtype to = body.value(last.outputs[0]).type.dtype;
    return fmt::format("{}({})", to == Dtype::f16 ? "rounded_f16" : "rounded_bf16", value);
  }
  return last.op->name == "RoundTo" ? rounded_text(last, value) : std::string(value);
}

}  // namespace

bool takes_halves(const Graph& graph, const Node& node) {
  const std::string_view op = node.op->name;
  if (op == "Clip") {
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                       [&](ValueId id) { return id == kNoValue || graph.is_constant(id); });
  }
  if (has_two_operands(op) && node.inputs.size() != 2) return false;
  return op == "Gelu" || std::ranges::find(kFunctions, op, &Function::op) != std::end(kFunctions) ||
         std::ranges::find(kFunctionsOfAttributes, op, &FunctionOfAttributes::op) !=
             std::end(kFunctionsOfAttributes);
}

namespace {

// From a function's last node on: what it reads with casts, or with codes that become reals and are rounded; its rounding, its cast or its quantization.
class HalfReals {
 public:
  HalfReals(const Graph& graph, const Uses& uses, u32 last)
      : graph_(graph), uses_(uses), chain_{last} {}

  std::vector<u32> find() {
    const bool codes = is_plain_quantize(graph_, last());
    if (codes && !step_back()) return {};
    if (codes && is_widening(graph_, last())) {
      if (!is_read_once(graph_, uses_, last().outputs[0])) return {};
      std::ranges::sort(chain_);
      return std::move(chain_);
    }
    const bool rounds = last().op->name == "RoundTo" || (!codes && is_narrowing(graph_, last()));
    if (rounds && !step_back()) return {};
    const Node& node = last();
    const bool halves_of_codes = !codes && is_narrowing(graph_, graph_.nodes[chain_[0]]) &&
                                 is_plain_dequantize(graph_, node) &&
                                 is_read_once(graph_, uses_, node.outputs[0]);
    if (halves_of_codes) {
      std::ranges::sort(chain_);
      return std::move(chain_);
    }
    if (!takes_halves(graph_, node)) return {};
    for (const ValueId id : node.inputs) {
      const s32 from = own_producer(id);
      if (from >= 0) take_read(static_cast<u32>(from));
    }
    std::ranges::sort(chain_);
    return std::move(chain_);
  }

 private:
  const Node& node(u32 n) const { return graph_.nodes[n]; }
  const Node& last() const { return graph_.nodes[chain_.back()]; }
  bool step_back() {
    const s32 from = uses_.producer(last().input(0));
    return from >= 0 && (chain_.push_back(static_cast<u32>(from)), true);
  }
  s32 own_producer(ValueId id) const {
    return id != kNoValue && is_read_once(graph_, uses_, id) ? uses_.producer(id) : -1;
  }
  void take_read(u32 from) {
    if (is_widening(graph_, node(from)) || is_plain_dequantize(graph_, node(from)))
      return chain_.push_back(from);
    const s32 codes = node(from).op->name == "RoundTo" ? own_producer(node(from).inputs[0]) : -1;
    if (codes < 0 || !is_plain_dequantize(graph_, node(static_cast<u32>(codes)))) return;
    chain_.push_back(from);
    chain_.push_back(static_cast<u32>(codes));
  }

  const Graph& graph_;
  const Uses& uses_;
  std::vector<u32> chain_;
};

// What a function reads: a value of memory, and its real as text of `letter`.
struct ReadValue {
  ValueId id;
  std::string real;
};

const Node* producer_in(const Graph& body, ValueId id) {
  const auto at =
      std::ranges::find_if(body.nodes, [&](const Node& part) { return part.outputs[0] == id; });
  return at == body.nodes.end() ? nullptr : &*at;
}

// The real of `id` where the value of memory is `{}`.
ReadValue read_value(const Graph& body, ValueId id) {
  const Node* from = producer_in(body, id);
  if (from == nullptr) return {id, "{}"};
  if (is_widening(body, *from))
    return {from->inputs[0], widened(body.value(from->inputs[0]).type.dtype, "{}")};
  if (from->op->name == "RoundTo") {
    const ReadValue codes = read_value(body, from->inputs[0]);
    return {codes.id, rounded_text(*from, codes.real)};
  }
  return {from->inputs[0], dequantized_text(body, *from, "{}")};
}

// From the function's real to what is stored.
std::string ended_text(const Graph& body, std::string real) {
  const Node& last = body.nodes.back();
  if (!is_plain_quantize(body, last)) return stored(body, last, real);
  const Node* before = producer_in(body, last.inputs[0]);
  if (before != nullptr && before->op->name == "RoundTo") real = rounded_text(*before, real);
  return quantized_text(body, last, real);
}

// Reals of 16 bits that become codes, or codes that become such reals.
bool is_conversion(const Graph& body) {
  constexpr size_t kParts = 2;
  if (body.nodes.size() != kParts) return false;
  const Node &first = body.nodes[0], &last = body.nodes[1];
  return (is_widening(body, first) && is_plain_quantize(body, last)) ||
         (is_plain_dequantize(body, first) && is_narrowing(body, last));
}
Offer offer_conversion(const LowerRequest& request, const Graph& body) {
  const ReadValue read = read_value(body, body.nodes.back().inputs[0]);
  Elementwise step{.types = {request.outputs[0], body.value(read.id).type}, .body = {}};
  step.body = ended_text(body, fmt::format(fmt::runtime(read.real), "a"));
  const bool to_codes = is_plain_quantize(body, body.nodes.back());
  Offer offer = elementwise(request, to_codes ? "quantize_halves" : "halves_of_codes",
                            common_layout(request), std::move(step));
  if (Candidate* candidate = std::get_if<Candidate>(&offer))
    candidate->cost = cost_by_bytes(request);
  return offer;
}

}  // namespace

std::vector<u32> find_half_reals(const Graph& graph, const Uses& uses, u32 last) {
  return HalfReals(graph, uses, last).find();
}

Offer offer_half_reals(const LowerRequest& request) {
  const Graph& body = chain_body(request.node);
  if (is_conversion(body)) return offer_conversion(request, body);
  size_t at = 0;
  while (!takes_halves(body, body.nodes[at])) ++at;
  const Node& node = body.nodes[at];
  const std::string function = body_of(part_request(request, at), node);
  if (function.empty()) return Reject{"there is no such function, or a parameter is not constant"};
  const size_t operands = has_two_operands(node.op->name) ? 2 : 1;
  // The chain's inputs in its own order, as the step is given them, then constants.
  Elementwise step{.types = {request.outputs[0]}, .body = {}};
  std::vector<ValueId> order = body.inputs;
  for (const ValueId id : body.inputs) {
    step.types.push_back(body.value(id).type);
    step.constants.emplace_back();
  }
  std::string arguments;
  for (size_t i = 0; i < operands; ++i) {
    const auto [id, real] = read_value(body, node.inputs[i]);
    size_t place = static_cast<size_t>(std::ranges::find(order, id) - order.begin());
    if (place == order.size()) {
      if (!body.value(id).constant) return Reject{"an operand is neither an input nor a constant"};
      order.push_back(id);
      step.types.push_back(body.value(id).type);
      step.constants.push_back(body.value(id).constant);
    }
    const std::string letter(1, static_cast<char>('a' + place));
    arguments += (i > 0 ? ", " : "") + fmt::format(fmt::runtime(real), letter);
  }
  constexpr size_t kMostOperands = 3;
  if (order.size() > kMostOperands || body.inputs.empty())
    return Reject{"there are not one to three operands"};
  const std::string real = fmt::format("[&](f32 a{}) {{ return {}; }}({})",
                                       operands == 2 ? ", f32 b" : "", function, arguments);
  step.body = ended_text(body, real);
  Offer offer = elementwise(request, "half_reals", common_layout(request), std::move(step));
  if (Candidate* candidate = std::get_if<Candidate>(&offer))
    candidate->cost = cost_by_bytes(request);
  return offer;
}

Offer lower_reals(const LowerRequest& request) {
  Elementwise step{.types = {request.outputs[0]}, .body = body_of(request, request.node)};
  if (step.body.empty() && request.node.op->name == "Pow")
    return Reject{"the exponent is not -1, 0, 1/2, 1 or 2"};
  if (step.body.empty()) return Reject{"there is no such function, or a parameter is not constant"};
  const size_t operands = has_two_operands(request.node.op->name) ? 2 : 1;
  if (operands == 2 && request.inputs.size() != 2) return Reject{"there are not two operands"};
  bool brought = false;
  for (size_t i = 0; i < operands; ++i) {
    if (request.inputs[i].dtype != Dtype::f32) return Reject{"an operand is not f32"};
    const Tensor* constant = request.constant(i);
    step.types.push_back(request.inputs[i]);
    step.constants.push_back(constant != nullptr ? *constant : Tensor());
    brought = brought || constant == nullptr;
  }
  if (!brought) return Reject{"all operands are constant"};
  Offer offer = elementwise(request, "reals", common_layout(request), std::move(step));
  if (Candidate* candidate = std::get_if<Candidate>(&offer)) {
    for (size_t i = 0; i < operands; ++i) {
      if (request.inputs[i] == request.outputs[0]) candidate->overwrites.push_back(i);
    }
  }
  return offer;
}

Offer lower_function(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const std::string body = body_of(request, function_of(request.node));
  const Epilogue epilogue = epilogue_of(request.node);
  if (body.empty()) return Reject{"there is no such function"};
  const f32 scale = function_scale(request.node);
  Elementwise step{.types = {request.outputs[0], request.inputs[0]},
                   .body = fmt::format("quantized({}, {}, {}, {}, {}, {})", body, exact_text(scale),
                                       exact_text(reciprocal_of(scale)), epilogue.range.zero_point,
                                       epilogue.range.lo, epilogue.range.hi)};
  return elementwise(request, "function_codes", common_layout(request), std::move(step));
}

namespace {

// Towards zero; what is beyond the type becomes its end, NaN 0.
std::string integer_of_real(Dtype to) {
  const bool is_signed = is_signed_integer(to);
  const int digits = static_cast<int>(8 * dtype_bytes(to)) - (is_signed ? 1 : 0);
  const f32 limit = std::ldexp(1.0f, digits);
  const std::string type = kernel_type(to);
  const std::string least =
      is_signed ? fmt::format("({})(1ull << {})", type, digits) : fmt::format("({})0", type);
  return fmt::format("a != a ? ({0})0 : a >= {1} ? ({0})~({2}) : a <= {3} ? {2} : ({0})a", type,
                     exact_text(limit), least, exact_text(is_signed ? -limit : 0.0f));
}

// Between f32 and a type of 16 bits: the function that does it, or nothing.
std::string_view half_cast(Dtype from, Dtype to) {
  if (from == Dtype::f32) return to == Dtype::f16 ? "f16_of" : to == Dtype::bf16 ? "bf16_of" : "";
  if (to != Dtype::f32) return "";
  return from == Dtype::f16 ? "real_of_f16" : from == Dtype::bf16 ? "real_of_bf16" : "";
}

}  // namespace

// Integers keep their low bits, or become the nearest f32.
Offer lower_cast(const LowerRequest& request) {
  const Dtype from = request.inputs[0].dtype, to = request.outputs[0].dtype;
  const bool same = from == to;
  const bool to_bool = to == Dtype::boolean && (is_integer(from) || from == Dtype::f32);
  const bool to_number =
      (is_integer(from) || from == Dtype::boolean) && (is_integer(to) || to == Dtype::f32);
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const bool to_integer = from == Dtype::f32 && is_integer(to);
  const std::string_view half = half_cast(from, to);
  if (!same && !to_bool && !to_number && !to_integer && half.empty())
    return Reject{fmt::format("{} to {} is left to the CPU", dtype_name(from), dtype_name(to))};
  Elementwise step{.types = {request.outputs[0], request.inputs[0]},
                   .body = !half.empty()      ? fmt::format("{}(a)", half)
                           : to_integer       ? integer_of_real(to)
                           : to_bool && !same ? "a != 0"
                                              : "a"};
  constexpr s64 kFewChannels = 16;  // more are turned faster by families/transpose
  const bool turned =
      !half.empty() && is_picture(request) && request.inputs[0].shape[1] <= kFewChannels;
  Offer offer = elementwise(request, "cast", request.layouts[0], std::move(step));
  Candidate* candidate = std::get_if<Candidate>(&offer);
  if (turned && candidate != nullptr) candidate->outputs = {Layout::nhwc};
  return offer;
}

}  // namespace octet::cuda
