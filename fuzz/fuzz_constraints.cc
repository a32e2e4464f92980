// SPDX-License-Identifier: Apache-2.0
// Any bytes as precision constraints: what is accepted is written and read back.
#include "fuzz/fuzz.h"
#include "octet/constraints.h"

namespace octet::fuzz {
namespace {

void read(std::string_view text) {
  const std::vector<PrecisionConstraint> list = parse_constraints(text, false);
  std::string written;
  for (const PrecisionConstraint& constraint : list)
    written += (written.empty() ? "" : ",") + to_string(constraint);
  const std::vector<PrecisionConstraint> again = parse_constraints(written, false);
  if (again.size() != list.size()) found("a list that reads back with another length");
  for (size_t i = 0; i < list.size(); ++i) {
    if (again[i].pattern != list[i].pattern || again[i].precision != list[i].precision)
      found("a constraint that reads back different");
  }
}

void test_one(const Input& input) {
  survives([&] { read(input.text()); });
}

}  // namespace

const Target kTarget{.memory = s64{64} << 20, .run = test_one};

}  // namespace octet::fuzz
