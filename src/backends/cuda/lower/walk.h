// SPDX-License-Identifier: Apache-2.0
// Steps that go once over the elements of their output: the kernel of families/map/, or of families/transpose/ where neighbours in the input are
// none in the output.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device/walk.h"
#include "backends/cuda/lower/element_type.h"
#include "backends/cuda/lower/step.h"

namespace octet::cuda {

// Where one operand's elements lie.
struct WalkOperand {
  ElementType type;
  s64 bytes = 1;               // of an element
  std::vector<s64> strides{};  // for each axis of the walk, in elements; 0 repeats
  s64 offset = 0;              // bytes from an address that is a multiple of 64
  s64 first = 0;               // elements from there to the first one; operands 0 and 1 alone
  bool constant = false;       // small, and read from a cache
};

// An axis of operand 1 whose offsets are in a table.
struct WalkMap {
  size_t axis;
  std::vector<s64> offsets;  // in elements; -1: filled
};

struct Walk {
  std::vector<s64> sizes;             // the output's, in any order
  std::vector<WalkOperand> operands;  // the output, then up to three inputs
  std::string body = "a";             // of values a, b, c, in the words of device/snippets.cuh
  bool table = false;                 // the body may name table[code]: 256 bytes
  bool table_flipped = false;         // they begin with code -128
  std::vector<WalkMap> maps{};
  std::optional<u64> fill{};  // bits of what is filled

  s64 elements() const;
};

// A value of this type and place, broadcast to `out`.
WalkOperand walk_operand(const TensorType& type, const Shape& out, const Placement& at, s64 offset);
// The same for a constant as it lies.
WalkOperand walk_constant(const Tensor& tensor, const Shape& out);

// What a walk's kernel computes of an element.
KernelFunction element_function(const Walk& walk);
Launch walk_launch(const CudaDevice& device, Walk walk);
// The tables of walk.maps in the order that the launch expects; empty where there is none.
std::vector<s32> walk_tables(const Walk& walk);

}  // namespace octet::cuda
