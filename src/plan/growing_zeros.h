// SPDX-License-Identifier: Apache-2.0
// Of which values rows that are not in use are zeros.
#pragma once

#include <vector>

#include "plan/growing_lengths.h"

namespace octet {

// f32, f16 or bf16: a zero of theirs adds nothing to a sum.
bool are_reals(Dtype dtype);

class GrowingZeros {
 public:
  GrowingZeros(const GrowingLengths& lengths, size_t values) : at_(lengths), zeros_(values) {}

  bool operator[](ValueId id) const { return zeros_[id]; }
  void set(ValueId id, bool zeros) { zeros_[id] = zeros; }
  // The node's result has such rows because its operands have them.
  void pass_on(const Node& node);

 private:
  bool keeps(const Node& node) const;

  const GrowingLengths& at_;
  std::vector<bool> zeros_;
};

}  // namespace octet
