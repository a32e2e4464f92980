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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("then_branch", self.then_branch, kRequired);
    field("else_branch", self.else_branch, kRequired);
  }
};

struct LoopAttributes {
  GraphPtr body;
  s64 carried = 0;  // inputs behind the number of trips and the condition that go from trip to trip

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("body", self.body, kRequired);
    field("carried", self.carried, kRequired);
  }
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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("batched", self.batched);
    field("captures", self.captures);
    field("num_scan_inputs", self.num_scan_inputs, kRequired);
    field("scan_input_axes", self.scan_input_axes);
    field("scan_input_directions", self.scan_input_directions);
    field("scan_output_axes", self.scan_output_axes);
    field("scan_output_directions", self.scan_output_directions);
  }
};

}  // namespace octet
