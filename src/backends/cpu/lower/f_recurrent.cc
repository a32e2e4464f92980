// SPDX-License-Identifier: Apache-2.0
// f32 LSTM, GRU and RNN with the functions that they have by default.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cpu/lower/recurrent_step.h"
#include "backends/cpu/lower/unit_rates.h"
#include "ops/attributes/recurrent.h"

namespace octet {
namespace {

bool same_name(const std::string& a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto lower = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return lower(x) == lower(y);
  });
}

// Whether every direction has these functions.
bool has_functions(const Node& node, std::initializer_list<std::string_view> wanted) {
  const auto given = attribute_of<&RecurrentAttributes::activations>(node);
  if (!given) return true;
  for (size_t i = 0; i < given->size(); ++i) {
    if (!same_name((*given)[i], wanted.begin()[i % wanted.size()])) return false;
  }
  return true;
}

// Nothing where there is no kernel for the node's functions.
std::optional<RecurrentCells> cells_of(const Node& node, Isa isa) {
  if (node.op->name == "LSTM") {
    if (!has_functions(node, {"Sigmoid", "Tanh", "Tanh"})) return {};
    return RecurrentCells{4, kernel_for(kLstmCell, isa), nullptr};
  }
  if (node.op->name == "GRU") {
    if (!has_functions(node, {"Sigmoid", "Tanh"})) return {};
    if (attribute_of<&RecurrentShapeAttributes::linear_before_reset>(node))
      return RecurrentCells{3, kernel_for(kGruLinearCell, isa), nullptr};
    return RecurrentCells{3, kernel_for(kGruGates, isa), kernel_for(kGruFinish, isa)};
  }
  if (has_functions(node, {"Tanh"}))
    return RecurrentCells{1, kernel_for(kRnnTanhCell, isa), nullptr};
  if (has_functions(node, {"Relu"}))
    return RecurrentCells{1, kernel_for(kRnnReluCell, isa), nullptr};
  return {};
}

std::string reject(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty()) return reason;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (i != kRecLengths && request.has_input(i) && request.inputs[i].dtype != Dtype::f32)
      return "an operand is not f32";
  }
  const auto attributes = attributes_of<RecurrentAttributes>(request.node);
  if (request.has_input(kRecPeepholes)) return "there are peepholes";
  if (attributes.clip > 0.0f) return "the sums are clipped";
  if (attributes.input_forget) return "the input gate is the forget gate too";
  if (request.inputs[kRecX].shape.elements() == 0 || request.inputs[kRecR].shape.elements() == 0)
    return "an operand is empty";
  return {};
}

}  // namespace

Offer lower_f_recurrent(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const std::optional<RecurrentCells> cells = cells_of(request.node, isa_of(request.target));
  if (!cells) return Reject{"its functions are not those of the kernel"};
  RecurrentStep step;
  step.cells = *cells;
  step.multiply = kernel_for(kRowsByVectors, isa_of(request.target));
  if (std::string reason = read_recurrence(request, step); !reason.empty()) return Reject{reason};
  Candidate candidate = recurrent_candidate(request, step);
  candidate.kernel = kernel_name("f32", "recurrent", isa_of(request.target));
  candidate.macs_per_cycle = real_unit_rate(isa_of(request.target));
  return candidate;
}

}  // namespace octet
