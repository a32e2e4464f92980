// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN of reals, and of codes: what the weights make of the inputs of many steps is one product (kernels/recurrent_inputs.cu), then the steps are
// walked (kernels/recurrent_steps.cu).
#include "backends/cuda/lower/recurrent.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <variant>

#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/recurrent_shape.h"
#include "backends/cuda/lower/step.h"
#include "backends/cuda/lower/walk.h"
#include "core/divide.h"
#include "graph/op_traits.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/recurrent.h"

namespace octet::cuda {
namespace {

enum : size_t { kInputsPart, kStepsPart };
constexpr size_t kOperands = kRecPeepholes + 1;

// Of products of codes. The weights' codes are reals on the device, and so are sums of products, which 24 bits must hold.
struct ProductsOfCodes {
  std::string x;  // its type
  s32 zero_point = 0;
  f32 state_scale = 1.0f;
  Tensor multipliers = {};
};

struct Recurrence {
  std::string node = {};
  RecurrentGeometry g = {};
  RecurrentSizes sizes = {};
  std::array<bool, kOperands> reads{};
  std::array<Tensor, kOperands> constants = {};  // empty where a run brings the operand
  std::array<bool, 3> writes{};                  // y, the last h, the last c
  std::vector<std::string> functions = {};       // of x and the direction d
  f32 clip = 0.0f;                               // 0: none
  bool input_forget = false;
  std::string length = "s32";  // the type of one
  s64 at_once = 1;             // steps whose inputs are multiplied together
  RecurrentShape shape = {};
  std::optional<ProductsOfCodes> codes = {};

  s64 rows() const { return sizes.gates * g.hidden; }
  s64 rounds() const { return ceil_div(g.steps, shape.steps); }
  bool reports() const { return reads[kRecLengths] && !constants[kRecLengths]; }
  s64 sum_bytes() const { return g.directions * at_once * g.batch * rows() * s64{sizeof(f32)}; }
  s64 state_bytes() const { return g.state_shape().elements() * s64{sizeof(f32)}; }
  // Whether four neighbours of rows of `count` elements are one access.
  bool together(size_t i, s64 count, const BindArgs& bind) const {
    constexpr s64 kAccess = 16;
    return count % 4 == 0 && (constants[i] || bind.input_offset(i) % kAccess == 0);
  }
};

// In the words of kernels/math.cu what ops/shared/recurrent.cc has.
std::string expression(const CellFunction& function) {
  struct Named {
    std::string_view name;
    const char* text;  // A: alpha, B: beta
  };
  constexpr Named kExpressions[] = {
      {"Affine", "f32_add(f32_mul({0},x),{1})"},
      {"Elu", "x<0.0f?f32_mul({0},f32_sub(math_exp(x),1.0f)):x"},
      {"HardSigmoid", "math_hard_sigmoid(x,{0},{1})"},
      {"LeakyRelu", "x<0.0f?f32_mul({0},x):x"},
      {"Relu", "x<0.0f?0.0f:x"},
      {"ScaledTanh", "f32_mul({0},math_tanh(f32_mul({1},x)))"},
      {"Sigmoid", "math_sigmoid(x)"},
      {"Softplus", "f32_add(x<0.0f?0.0f:x,math_log(f32_add(1.0f,math_exp(-magnitude(x)))))"},
      {"Softsign", "f32_div(x,f32_add(1.0f,magnitude(x)))"},
      {"Tanh", "math_tanh(x)"},
      {"ThresholdedRelu", "x>{0}?x:0.0f"}};
  const auto bits = [](f32 value) {
    return fmt::format("f32_bits(0x{:08x}u)", std::bit_cast<u32>(value));
  };
  for (const Named& named : kExpressions) {
    if (named.name == function.name)
      return fmt::format(fmt::runtime(named.text), bits(function.alpha), bits(function.beta));
  }
  return {};
}

// Empty where there is a function without an expression.
std::vector<std::string> functions_of(const Node& node, const RecurrentKind& kind, s64 directions) {
  const std::vector<CellFunction> all = recurrent_functions(node, kind, directions);
  const size_t count = all.size() / static_cast<size_t>(directions);
  std::vector<std::string> functions;
  for (size_t i = 0; i < count; ++i) {
    std::string forward = expression(all[i]), backward = expression(all[all.size() - count + i]);
    if (forward.empty() || backward.empty()) return {};
    functions.push_back(forward == backward ? forward
                                            : fmt::format("d?({}):({})", backward, forward));
  }
  return functions;
}

// Lengths that are constant must lie within the steps; where all are the whole, nobody has to read them.
std::string read_lengths(const LowerRequest& request, Recurrence& r) {
  if (!r.reads[kRecLengths]) return {};
  r.length = kernel_type(request.inputs[kRecLengths].dtype);
  const Tensor& lengths = r.constants[kRecLengths];
  if (!lengths) return {};
  bool whole = true;
  for (s64 n = 0; n < r.g.batch; ++n) {
    const auto i = static_cast<size_t>(n);
    const s64 length = lengths.dtype() == Dtype::s32 ? lengths.as<s32>()[i] : lengths.as<s64>()[i];
    if (length < 0 || length > r.g.steps) return "a sequence is longer than the input";
    whole = whole && length == r.g.steps;
  }
  if (whole) r.reads[kRecLengths] = false, r.constants[kRecLengths] = Tensor();
  return {};
}

// Whether an f32 holds the sum of each row's products, with factors of such a magnitude, and so do all sums on the way there.
bool holds_sums(const Tensor& weights, s32 magnitude) {
  constexpr s64 kMost = s64{1} << 24;
  const auto codes = weights.as<s8>();
  const auto count = static_cast<size_t>(weights.shape()[2]);
  for (size_t row = 0; row < codes.size(); row += count) {
    s64 sum = 0;
    for (size_t i = 0; i < count; ++i) sum += std::abs(s32{codes[row + i]}) * magnitude;
    if (sum > kMost) return false;
  }
  return true;
}

std::string read_codes(const LowerRequest& request, Recurrence& r) {
  const TensorType& x = request.inputs[kRecX];
  if (request.constant(kRecX) != nullptr) return "the input is a constant";
  for (size_t i : {size_t{kRecW}, size_t{kRecR}, size_t{kQRecMultipliers}}) {
    if (request.constant(i) == nullptr) return "the weights are not constant";
  }
  const s32 zero_point = input_zero_point(request.node, kRecX);
  const CodeRange range = code_range(x.dtype);
  const s32 magnitude = std::max(zero_point - range.lo, range.hi - zero_point);
  if (!holds_sums(*request.constant(kRecW), magnitude) ||
      !holds_sums(*request.constant(kRecR), kMostStateCode))
    return "sums of so many products of codes do not fit into 24 bits";
  r.codes = {kernel_type(x.dtype), zero_point, state_scale_of(request.node),
             *request.constant(kQRecMultipliers)};
  return {};
}

std::string check_operands(const LowerRequest& request, Recurrence& r) {
  const bool codes = request.node.op->traits->s8_weights;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool real = i != kRecLengths && (!codes || (i != kRecX && i != kRecW && i != kRecR));
    if (real && request.has_input(i) && request.inputs[i].dtype != Dtype::f32)
      return "an operand is not f32";
  }
  return codes ? read_codes(request, r) : std::string();
}

std::string read(const LowerRequest& request, Recurrence& r) {
  if (std::string reason = check_operands(request, r); !reason.empty()) return reason;
  for (size_t i : {kRecX, kRecR}) {
    if (request.inputs[i].shape.elements() == 0) return "an operand is empty";
  }
  const Node& node = request.node;
  const std::string_view op = node.op->name.substr(r.codes ? 1 : 0);  // QLSTM: LSTM
  const RecurrentKind& kind = recurrent_kind(op);
  r.node = node.name;
  r.g = recurrent_geometry(node, request.inputs[kRecX].shape, request.inputs[kRecR].shape);
  constexpr s64 kMost = s64{1} << 31;
  if (r.g.steps * r.g.batch >= kMost) return "there are 2^31 steps";
  r.sizes = {r.g.steps,  r.g.batch,
             r.g.hidden, r.g.directions,
             kind.gates, op == "GRU" && node.attrs.i("linear_before_reset", 0) == 0};
  for (size_t i = 0; i < std::min(kOperands, request.inputs.size()); ++i) {
    r.reads[i] = request.has_input(i);
    if (const Tensor* constant = request.constant(i)) r.constants[i] = *constant;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) r.writes[i] = node.outputs[i] != kNoValue;
  r.functions = functions_of(node, kind, r.g.directions);
  if (r.functions.empty()) return "a function is none of the kernel's";
  r.clip = std::max(0.0f, node.attrs.f("clip", 0.0f));
  r.input_forget = node.attrs.i("input_forget", 0) != 0;
  return read_lengths(request, r);
}

// Of both kernels.
void set_walk(KernelSource& source, const Recurrence& r) {
  source.set("STEPS", r.g.steps), source.set("BATCH", r.g.batch);
  source.set("BATCH_FIRST", s64{r.g.batch_first}), source.set("REVERSE", s64{r.g.reverse});
  source.set("LENGTHS", s64{r.reads[kRecLengths]}), source.set("LENGTH", r.length);
  source.set("BIAS", s64{r.reads[kRecB]}), source.set("AT_ONCE", r.at_once);
  source.set("CODES", s64{r.codes.has_value()});
}

Launch inputs_launch(const Recurrence& r, const BindArgs& bind) {
  constexpr s64 kTile = 32;
  Launch launch{.source = {"recurrent_inputs", {}}, .shape = {}, .part = kInputsPart};
  KernelSource& source = launch.source;
  set_walk(source, r);
  source.set("INPUT", r.g.input), source.set("ROWS", r.rows());
  source.set("X", r.codes ? r.codes->x : "f32");
  source.set("ZP_X", s64{r.codes ? r.codes->zero_point : 0});
  source.set("X_TOGETHER", s64{r.together(kRecX, r.g.input, bind)});
  source.set("W_TOGETHER", s64{r.together(kRecW, r.g.input, bind)});
  launch.shape = {
      .blocks = ceil_div(r.rows(), kTile) * ceil_div(r.at_once * r.g.batch, kTile) * r.g.directions,
      .threads = 256,
      .programmatic_dependent = true};
  launch.rounds = r.rounds();
  launch.every = r.at_once / r.shape.steps;
  return launch;
}

void set_cell(KernelSource& source, const Recurrence& r) {
  source.set("GATES", r.sizes.gates), source.set("LINEAR", s64{!r.sizes.gates_first});
  for (size_t i = 0; i < r.functions.size(); ++i) source.set(fmt::format("F{}", i), r.functions[i]);
  source.set("CLIP", s64{r.clip > 0.0f}), source.set("CLIP_AT", r.clip);
  source.set("PEEPHOLES", s64{r.reads[kRecPeepholes]});
  source.set("INPUT_FORGET", s64{r.input_forget});
}

Launch steps_launch(const Recurrence& r, const BindArgs& bind) {
  Launch launch{.source = {"recurrent_steps", {}}, .shape = {}, .part = kStepsPart};
  KernelSource& source = launch.source;
  set_walk(source, r);
  set_cell(source, r);
  source.set("DIRECTIONS", r.g.directions), source.set("HIDDEN", r.g.hidden);
  source.set("UNITS", r.shape.units), source.set("SEQUENCES", r.shape.sequences);
  source.set("EACH", r.shape.each), source.set("THREADS", r.shape.threads);
  source.set("SHARED_CHUNKS", r.shape.shared_chunks);
  source.set("KEPT_CHUNKS", r.shape.kept_chunks), source.set("STEPS_EACH", r.shape.steps);
  source.set("STATE_SCALE", r.codes ? r.codes->state_scale : 1.0f);
  source.set("WRITES_Y", s64{r.writes[0]}), source.set("REPORTS", s64{r.reports()});
  source.set("R_TOGETHER", s64{r.together(kRecR, r.g.hidden, bind)});
  source.set("R_CONSTANT", static_cast<s64>(static_cast<bool>(r.constants[kRecR])));
  launch.shape = {.blocks = r.shape.blocks,
                  .threads = static_cast<int>(r.shape.threads),
                  .shared_bytes = r.shape.shared_bytes,
                  .programmatic_dependent = true};
  launch.rounds = r.rounds();
  return launch;
}

// Codes as reals.
BlobRecipe reals_of(const Tensor& codes) {
  return {"codes as reals", {codes}, [codes] {
            const auto from = codes.as<s8>();
            const std::vector<f32> reals(from.begin(), from.end());
            return bytes_of(std::span<const f32>(reals));
          }};
}

// The constants; then multipliers.
std::vector<BlobRecipe> blobs_of(const Recurrence& r) {
  std::vector<BlobRecipe> blobs;
  for (size_t i = 0; i < r.constants.size(); ++i) {
    const Tensor& constant = r.constants[i];
    if (!constant) continue;
    const bool weights = r.codes && (i == kRecW || i == kRecR);
    blobs.push_back(weights ? reals_of(constant) : constant_blob(constant));
  }
  if (r.codes) blobs.push_back(constant_blob(r.codes->multipliers));
  return blobs;
}

// Null where the node leaves it out.
const f32* operand(const Recurrence& r, const StepData& data, size_t i) {
  if (!r.reads[i]) return nullptr;
  if (!r.constants[i]) return reinterpret_cast<const f32*>(data.input(i));
  size_t blob = 0;
  for (size_t before = 0; before < i; ++before) blob += static_cast<bool>(r.constants[before]);
  return data.blob<f32>(blob);
}

const f32* multipliers(const Recurrence& r, const StepData& data) {
  return r.codes ? data.blob<f32>(data.blobs.size() - 1) : nullptr;
}

f32* result(const Recurrence& r, const StepData& data, size_t i) {
  return r.writes[i] ? reinterpret_cast<f32*>(data.output(i)) : nullptr;
}

params::RecurrentInputsParams inputs_parameters(const Recurrence& r, const StepData& data) {
  params::RecurrentInputsParams p{};
  p.x = operand(r, data, kRecX);
  p.multipliers = multipliers(r, data);
  p.weights = operand(r, data, kRecW);
  p.bias = operand(r, data, kRecB);
  p.lengths = operand(r, data, kRecLengths);
  p.sums = reinterpret_cast<f32*>(data.args.workspace);
  p.first = static_cast<s32>(data.round * r.shape.steps);
  return p;
}

// A round reads the states that the one before has written, from the place that it does not write.
params::RecurrentStepsParams steps_parameters(const Recurrence& r, const StepData& data,
                                              u64* outside) {
  const auto state = [&](s64 which) {
    return reinterpret_cast<f32*>(data.args.workspace + r.sum_bytes() + which * r.state_bytes());
  };
  const bool first = data.round == 0, last = data.round + 1 == r.rounds();
  params::RecurrentStepsParams p{};
  p.from_input = reinterpret_cast<const f32*>(data.args.workspace);
  p.weights = operand(r, data, kRecR);
  p.bias = operand(r, data, kRecB);
  p.multipliers = multipliers(r, data);
  p.peepholes = operand(r, data, kRecPeepholes);
  p.lengths = operand(r, data, kRecLengths);
  p.h_in = first ? operand(r, data, kRecInitialH) : state((data.round + 1) % 2);
  p.c_in = first ? operand(r, data, kRecInitialC) : state(2);
  p.h_out = last ? result(r, data, 1) : state(data.round % 2);
  p.c_out = last ? result(r, data, 2) : state(2);
  p.y = result(r, data, 0);
  p.outside = outside;
  p.first = static_cast<s32>(data.round * r.shape.steps);
  p.first_of_input = static_cast<s32>(data.round * r.shape.steps % r.at_once);
  return p;
}

// Throws what the definition throws.
Report::Raise raise_of(const Recurrence& r) {
  return [node = r.node, steps = r.g.steps](u32 number, s64 length) {
    try {
      checked_length(length, number, steps);
    } catch (Error& error) {
      error.add_context("running '" + node + "'");
      throw;
    }
  };
}

Candidate candidate_with(const LowerRequest& request, const Recurrence& r) {
  const bool whole = r.shape.unit_blocks == 1;
  Candidate candidate =
      candidate_of(request, whole ? "recurrent_walk" : "recurrent_steps", Layout::linear);
  const CudaDevice& device = device_of(request);
  candidate.macs_per_cycle =
      device.chip().costs().rate_multiply_f32 / 2 * device.chip().multiprocessors;
  candidate.cost = r.shape.cycles;
  candidate.workspace_bytes = r.sum_bytes() + 3 * r.state_bytes();
  set_launches(candidate, device,
               {[r](const BindArgs& bind) {
                  return std::vector<Launch>{inputs_launch(r, bind), steps_launch(r, bind)};
                },
                [r](const BindArgs&) { return blobs_of(r); }},
               [&device, r](const BindArgs&) {
                 using Parameters =
                     std::variant<params::RecurrentInputsParams, params::RecurrentStepsParams>;
                 const auto report =
                     r.reports() ? std::make_shared<Report>(device, raise_of(r)) : nullptr;
                 return [r, report](const StepData& data, size_t part) -> Parameters {
                   if (part == kInputsPart) return inputs_parameters(r, data);
                   if (report != nullptr && data.round == 0) cuda_queue(data.args).watch(report);
                   return steps_parameters(r, data, report != nullptr ? report->words() : nullptr);
                 };
               });
  return candidate;
}

}  // namespace

Offer offer_recurrent(const LowerRequest& request, s64 most_bytes) {
  Recurrence r;
  if (std::string reason = read(request, r); !reason.empty()) return Reject{reason};
  r.at_once = std::clamp<s64>(most_bytes / r.sum_bytes(), 1, r.g.steps);
  Candidates all;
  for (const RecurrentShape& shape :
       recurrent_shapes(r.sizes, r.at_once, device_of(request).chip())) {
    r.shape = shape;
    all.push_back(candidate_with(request, r));
  }
  if (all.empty()) return Reject{"the state of a sequence does not fit into shared memory"};
  return all;
}

// What is made of inputs stays in half of the second-level cache.
Offer lower_recurrent(const LowerRequest& request) {
  return offer_recurrent(request, device_of(request).chip().l2_bytes / 2);
}

}  // namespace octet::cuda
