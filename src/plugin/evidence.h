// SPDX-License-Identifier: Apache-2.0
// What a combination computed in a process of its own, as bytes that another process compares: a library can say anything of itself in its own
// process, but who judges it never loaded it.
#pragma once

#include <string>
#include <vector>

#include "plugin/check_run.h"

namespace octet {

// Of the bytes of one process.
inline constexpr size_t kMostEvidence = size_t{160} << 20;

// In the child that has the library: the outputs of each case, by the combination (into memory of these bytes), or by the float evaluation on
// the same numbers.
std::string record_outputs(const CheckContext& context, std::byte poison);
std::string record_reals(const CheckContext& context);

struct RecordedOutput {
  std::string name;
  PortCodes port;  // what its numbers mean
  Tensor values;   // none where a case leaves it out
};
struct RecordedCase {
  std::string text;
  std::vector<RecordedOutput> outputs;
};
using Evidence = std::vector<RecordedCase>;

// Throws Error(invalid_argument) for bytes that record_...() does not write: nothing of them is believed.
Evidence read_evidence(std::string_view bytes);

// Throw Error where two processes differ: in a bit, which `how` explains, or by more than codes or reals may from the float evaluation.
void same_evidence(const Evidence& a, const Evidence& b, const std::string& how);
void hold_to_reals(const Evidence& got, const Evidence& reals, bool commutes);

}  // namespace octet
