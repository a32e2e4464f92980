// SPDX-License-Identifier: Apache-2.0
// Steps that go once over the elements of their output: kernels/map.cu, or kernels/transpose.cu where neighbours in the input are none
// in the output.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/lower/step.h"

namespace octet::cuda {

// Where one operand's elements lie.
struct WalkOperand {
  std::string type;            // as kernels name it: "u8", "f32"
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
  std::vector<s64> sizes;                // the output's, in any order
  std::vector<WalkOperand> operands;     // the output, then up to three inputs
  std::string body = "a";                // of values a, b, c
  std::vector<std::string> constants{};  // that the body needs: "NAME=value"
  std::vector<WalkMap> maps{};
  std::string fill = "";

  s64 elements() const;
};

// "u8" and so on; by size alone where elements only move.
std::string kernel_type(Dtype dtype);
std::string bits_type(s64 bytes);
// A value of this type and place, broadcast to `out`.
WalkOperand walk_operand(const TensorType& type, const Shape& out, const Placement& at, s64 offset);
// The same for a constant as it lies.
WalkOperand walk_constant(const Tensor& tensor, const Shape& out);

Launch walk_launch(const CudaDevice& device, Walk walk);
// The tables of walk.maps in the order that the launch expects; empty where there is none.
std::vector<s32> walk_tables(const Walk& walk);

}  // namespace octet::cuda
