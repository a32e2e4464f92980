// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN of reals, and of codes: what the weights make of the inputs of many steps is one product (families/recurrent_inputs/), then the steps are
// walked.
#include "backends/cuda/families/recurrent_steps/lower.h"

#include <algorithm>
#include <variant>

#include "backends/cuda/families/recurrent_inputs/spec.h"
#include "backends/cuda/families/recurrent_steps/recurrence.h"
#include "backends/cuda/families/recurrent_steps/spec.h"
#include "backends/cuda/report.h"

namespace octet::cuda {
namespace {

enum : size_t { kInputsPart, kStepsPart };

// Of both kernels.
RecurrentWalk walk_of(const Recurrence& r) {
  return {.steps = field_of(r.g.steps),
          .batch = field_of(r.g.batch),
          .at_once = field_of(r.at_once),
          .batch_first = r.g.batch_first,
          .reverse = r.g.reverse,
          .lengths = r.reads[kRecLengths],
          .length = r.length,
          .bias = r.reads[kRecB],
          .codes = r.codes.has_value()};
}

Launch inputs_launch(const Recurrence& r, const BindArgs& bind) {
  const recurrent_inputs::Spec spec{.walk = walk_of(r),
                                    .directions = field_of(r.g.directions),
                                    .input = field_of(r.g.input),
                                    .rows = field_of(r.rows()),
                                    .x = r.codes ? r.codes->x : ElementType::f32,
                                    .zero_point = r.codes ? r.codes->zero_point : 0,
                                    .x_together = r.together(kRecX, r.g.input, bind),
                                    .w_together = r.together(kRecW, r.g.input, bind)};
  return {.source = source_of("recurrent_inputs", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = recurrent_inputs::kThreads,
                    .programmatic_dependent = true},
          .part = kInputsPart,
          .rounds = r.rounds(),
          .every = r.at_once / r.shape.steps};
}

// Those that the cell does not have are the identity.
std::vector<KernelFunction> cell_functions(const Recurrence& r) {
  constexpr size_t kMost = 3;
  std::vector<KernelFunction> functions;
  for (size_t i = 0; i < kMost; ++i)
    functions.push_back({fmt::format("f32 function_{}(f32 x, s32 d)", i),
                         i < r.functions.size() ? r.functions[i] : "x"});
  return functions;
}

recurrent_steps::Spec steps_spec(const Recurrence& r, const BindArgs& bind) {
  return {.walk = walk_of(r),
          .directions = field_of(r.g.directions),
          .gates = field_of(r.sizes.gates),
          .linear = !r.sizes.gates_first,
          .hidden = field_of(r.g.hidden),
          .units = field_of(r.shape.units),
          .sequences = field_of(r.shape.sequences),
          .each = field_of(r.shape.each),
          .steps_each = field_of(r.shape.steps),
          .threads = field_of(r.shape.threads),
          .shared_chunks = field_of(r.shape.shared_chunks),
          .kept_chunks = field_of(r.shape.kept_chunks),
          .clip = r.clip > 0.0f,
          .clip_at = bits_of(r.clip),
          .peepholes = r.reads[kRecPeepholes],
          .input_forget = r.input_forget,
          .weights_together = r.together(kRecR, r.g.hidden, bind),
          .weights_constant = static_cast<bool>(r.constants[kRecR]),
          .state_scale = bits_of(r.codes ? r.codes->state_scale : 1.0f),
          .writes_y = r.writes[0],
          .reports = r.reports()};
}

Launch steps_launch(const Recurrence& r, const BindArgs& bind) {
  const recurrent_steps::Spec spec = steps_spec(r, bind);
  Launch launch{.source = source_of("recurrent_steps", spec),
                .shape = {.blocks = blocks(spec),
                          .threads = spec.threads,
                          .shared_bytes = shared_bytes(spec),
                          .programmatic_dependent = true},
                .part = kStepsPart,
                .rounds = r.rounds()};
  launch.source.functions = cell_functions(r);
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

recurrent_inputs::Params inputs_parameters(const Recurrence& r, const StepData& data) {
  recurrent_inputs::Params p{};
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
recurrent_steps::Params steps_parameters(const Recurrence& r, const StepData& data, u64* outside) {
  const auto state = [&](s64 which) {
    return reinterpret_cast<f32*>(data.args.workspace + r.sum_bytes() + which * r.state_bytes());
  };
  const bool first = data.round == 0, last = data.round + 1 == r.rounds();
  recurrent_steps::Params p{};
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
                 using Parameters = std::variant<recurrent_inputs::Params, recurrent_steps::Params>;
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
  if (std::string reason = read_recurrence(request, r); !reason.empty()) return Reject{reason};
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
