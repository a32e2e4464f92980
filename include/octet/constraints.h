// SPDX-License-Identifier: Apache-2.0
// Which type the user asks for, layer by layer, and what became of it: TensorRT's precision constraints, of which every violation is
// told at once. docs/constraints.md has the rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/precision.h"

namespace octet {

// What becomes of a constraint that cannot be met, or would not be the fastest.
enum class ConstraintMode : uint8_t {
  prefer,  // met where there is a way, else a warning
  obey,    // met, or the build fails and says which are not
  none,    // kept beside the result, and nothing else
};
std::string_view to_string(ConstraintMode mode);  // "prefer"
std::optional<ConstraintMode> constraint_mode_from(std::string_view name);

struct PrecisionConstraint {
  // An ONNX node, a layer or an operator, or a pattern of node names: '*' stands for any characters, '?' for one. A name counts before
  // patterns and operators, of which the last counts.
  std::string pattern;
  Precision precision = Precision::none;  // int8 or f32
  bool output = false;                    // of what the layer gives; else of what it computes in
};
// "conv*:int8"
std::string to_string(const PrecisionConstraint& constraint);

// "conv1:int8,/head/*:f32": the type stands behind the last colon. Accepts the names that others give to types (fp32, float). Throws one
// Error(invalid_argument) that lists every entry that is wrong.
std::vector<PrecisionConstraint> parse_constraints(std::string_view text, bool output);

// What was asked of a node of the ONNX model; none: nothing.
struct NodeRequest {
  std::string node;
  Precision precision = Precision::none;
  Precision output = Precision::none;
};

// The same beside what it got.
struct NodePrecision {
  std::string node;
  std::string layer;  // it went into; empty: none
  Precision requested = Precision::none;
  Precision resolved = Precision::none;
  Precision requested_output = Precision::none;
  Precision resolved_output = Precision::none;
  ReasonCode reason_code = ReasonCode::none;  // of the layer
  std::string reason;

  bool violated() const;  // something else was asked for
};

}  // namespace octet
