// SPDX-License-Identifier: Apache-2.0
// Nodes with attributes and shapes that an operator accepts, data for them, and one run of a combination in guarded memory.
#pragma once

#include <chrono>
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
  std::string text;  // "2x5x16, 16, none; without z"

  bool omits(size_t i) const { return node.input(i) == kNoValue; }
  bool omits_result(size_t i) const { return node.outputs[i] == kNoValue; }
  void omit(size_t i) {
    node.inputs[i] = kNoValue;
    inputs[i] = {};
  }
};
std::string case_text(const CheckCase& of);

inline constexpr s64 kMostCheckedElements = s64{1} << 20;  // of an input

// The plugin's examples and what can be made of them: other sizes, no elements, what a model may leave out, other numbers of tensors;
// without examples, shapes that the ranks allow. Those alone that the shape rule accepts. Throws Error where it fails otherwise than by refusing, or refuses an example.
std::vector<CheckCase> cases_of(const PluginOp& op, u64 seed);

// A combination, for a case: random data, and parameters of codes that fit what the reals give.
struct Trial {
  const PluginOp* op;
  const PluginCombination* combination;
  CheckCase of;
  CodesForm form;
  std::vector<Tensor> inputs;
  std::vector<TensorType> outputs;  // of the most elements, where data tell how many
  std::vector<u64> open;            // PluginShape::open of each
  std::vector<Tensor>
      reals;  // what the float evaluation gives for these inputs; empty where there is none

  // The codes of an operator that moves them mean this, of which it is told nothing; else what it is told.
  PortCodes meaning(PortCodes port) const;
  std::string text() const { return "case " + of.text; }
};

Trial make_trial(const PluginOp& op, const PluginCombination& combination, const CheckCase& from,
                 u64 seed);

// Whether a run could have it on these pointers. Tensors without elements are the host's affair where the host has such a combination, and
// no engine has codes with no scale.
bool can_occur(const Trial& trial);

// Runs the float evaluation on the same numbers, and fits the parameters of results to what it gives.
void measure_reals(Trial& trial);

PluginStep step_of(const Trial& trial);

// Parameters under which these reals have all codes; those of codes that an operator only moves.
void fit_codes(PortCodes& port, const Tensor& real);
void mean_moved_codes(PortCodes& port);

// A tensor as a port of this format has it in memory, and back.
Tensor to_layout(const PluginFormat& format, const Tensor& linear);
Tensor from_layout(const PluginFormat& format, const Tensor& laid);

// Output i as it lies in memory after a run, dense for these sizes.
Tensor result_of(const Trial& trial, size_t i, const std::byte* data, const Shape& size);

// In place of a result that the case leaves out.
inline Tensor unread() { return Tensor(Dtype::u8, Shape{0}); }

// An element as a number.
f64 value_at(const Tensor& tensor, s64 i);

// How the memory around a run is made.
struct RunMemory {
  GuardedMemory::At at = GuardedMemory::At::end;
  std::byte poison{0xa5};
  std::byte around{0xc3};  // of margins on a device
  // Of a run on the host: for so long nobody may write any more when it has returned.
  std::chrono::milliseconds rest{0};
};

// The outputs. Throws Error where bytes around them were written; a forbidden access ends the process (isolated.h).
std::vector<Tensor> run_guarded(const Trial& trial, const PluginStep& step,
                                const RunMemory& memory);
// The same in plain memory, on the threads of a pool.
std::vector<Tensor> run_plain(const Trial& trial, const PluginStep& step,
                              ThreadPool* pool = nullptr);

}  // namespace octet
