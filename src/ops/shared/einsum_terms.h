// SPDX-License-Identifier: Apache-2.0
// The terms of an Einsum's equation, without blanks: "bij,bjk->bik".
#pragma once

#include <string>
#include <vector>

namespace octet {

struct EinsumTerms {
  std::vector<std::string> operands;
  std::string result;
  bool has_result = false;  // the equation has an arrow
};

EinsumTerms einsum_terms(std::string equation);

}  // namespace octet
