// SPDX-License-Identifier: Apache-2.0
// Attributes of control flow: the graphs that nodes run, and how their inputs divide.
#pragma once

#include <optional>
#include <vector>

#include "graph/attributes.h"

namespace octet {

struct IfAttributes {
  GraphPtr then_branch;
  GraphPtr else_branch;

  OCTET_REQUIRED_ATTRIBUTES(then_branch, else_branch)
};

struct LoopAttributes {
  GraphPtr body;
  s64 carried = 0;  // inputs behind the number of trips and the condition that go from trip to trip

  OCTET_REQUIRED_ATTRIBUTES(body, carried)
};

// States, then sequences, then captures.
struct ScanAttributes {
  bool batched = false;  // opset 8: a batch axis leads
  s64 captures = 0;
  s64 num_scan_inputs = 0;
  std::optional<std::vector<s64>> scan_input_axes;  // of these lists, absent: 0 each
  std::optional<std::vector<s64>> scan_input_directions;
  std::optional<std::vector<s64>> scan_output_axes;
  std::optional<std::vector<s64>> scan_output_directions;

  OCTET_ATTRIBUTES(batched, captures, scan_input_axes, scan_input_directions, scan_output_axes,
                   scan_output_directions)
  OCTET_REQUIRED_ATTRIBUTES(num_scan_inputs)
};

}  // namespace octet
