// SPDX-License-Identifier: Apache-2.0
// Nodes with attributes and shapes that an operator accepts, data for them, and one run of a combination in guarded memory.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "plugin/call.h"
#include "plugin/guarded_memory.h"

namespace octet {

struct CheckCase {
  Node node;
  std::vector<Shape> inputs;
  std::string text;  // "[2,5,16], [16], [16]"
};

// The plugin's examples and what can be made of them; without examples, shapes that the ranks allow. Those alone that the shape rule
// accepts. Throws Error where it fails otherwise than by refusing, or refuses an example.
std::vector<CheckCase> cases_of(const PluginOp& op, u64 seed);

// A combination, for a case: random data, and parameters of codes that fit what the reals give.
struct Trial {
  const PluginOp* op;
  const PluginCombination* combination;
  CheckCase of;
  CodesForm form;
  std::vector<Tensor> inputs;
  std::vector<TensorType> outputs;
  std::vector<Tensor>
      reals;  // what the float evaluation gives for these inputs; empty where there is none

  // The codes of an operator that moves them mean this, of which it is told nothing; else what it is told.
  PortCodes meaning(PortCodes port) const;
  std::string text() const { return "case " + of.text; }
};

Trial make_trial(const PluginOp& op, const PluginCombination& combination, const CheckCase& from,
                 u64 seed);

// Runs the float evaluation on the same numbers, and fits the parameters of results to what it gives.
void measure_reals(Trial& trial);

PluginStep step_of(const Trial& trial);

// How the memory around a run is made.
struct RunMemory {
  GuardedMemory::At at = GuardedMemory::At::end;
  std::byte poison{0xa5};
};

// The outputs. Throws Error where bytes around them were written; a forbidden access ends the process (isolated.h).
std::vector<Tensor> run_guarded(const Trial& trial, const PluginStep& step,
                                const RunMemory& memory);
// The same in plain memory.
std::vector<Tensor> run_plain(const Trial& trial, const PluginStep& step);

}  // namespace octet
