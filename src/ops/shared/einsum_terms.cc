// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/einsum_terms.h"

namespace octet {

EinsumTerms einsum_terms(std::string equation) {
  std::erase(equation, ' ');
  EinsumTerms terms;
  const size_t arrow = equation.find("->");
  if (arrow != equation.npos) {
    terms.result = equation.substr(arrow + 2);
    terms.has_result = true;
    equation.resize(arrow);
  }
  size_t begin = 0;
  for (size_t comma = 0; (comma = equation.find(',', begin)) != equation.npos; begin = comma + 1) {
    terms.operands.push_back(equation.substr(begin, comma - begin));
  }
  terms.operands.push_back(equation.substr(begin));
  return terms;
}

}  // namespace octet
