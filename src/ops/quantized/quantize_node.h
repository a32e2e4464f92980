// SPDX-License-Identifier: Apache-2.0
// What all builders of integer nodes share: reading scales of a QuantizeRequest and writing the epilogue's attributes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "ops/quantized/epilogue.h"
#include "ops/shared/activation.h"

namespace octet {

inline QuantizeResult reject(std::string reason) {
  return {.node = {}, .reject = std::move(reason)};
}

inline bool wants_real_output(const QuantizeRequest& request) {
  return !is_code(request.output_dtype);
}

// Why activation input i cannot be read as codes with one positive scale, or with `scales` of them; empty: it can.
std::string unreadable_codes(const QuantizeRequest& request, size_t i, s64 scales = 1);
// Why the output cannot be written; empty: it can.
std::string unwritable_output(const QuantizeRequest& request);
// Both for inputs [0, count), for operators whose output must be codes.
std::string not_all_codes(const QuantizeRequest& request, size_t count);

// dtype of the codes behind activation input i.
Dtype codes_dtype(const QuantizeRequest& request, size_t i);

// An integer node of operator `op` reading `inputs`.
Node integer_node(std::string_view op, std::vector<ValueId> inputs);

// output_dtype, output_zero_point, lo, hi; a relu or clip becomes lo and hi, or stays an attribute for f32.
void set_output_attrs(Node& node, const QuantizeRequest& request, const Activation& activation);
void set_zero_points(Node& node, const QuantizeRequest& request, std::vector<size_t> from);

// The integer node `op` over the codes of the first `inputs` inputs, whose output must be codes; or a reason.
QuantizeResult code_node(const QuantizeRequest& request, std::string_view op, size_t inputs);

// True when every number is finite.
bool all_finite(std::span<const f32> numbers);

}  // namespace octet
