// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/trial_flags.h"

#include <fmt/format.h>

#include "cli/output/provenance.h"

namespace octet::cli {

std::string flags_of(const SearchTrial& trial, const PrecisionPlan& plan) {
  if (!trial.int8) return "without --int8";
  std::string flags = "--int8";
  if (trial.method) flags += " --calib-method " + to_string(*trial.method);
  const PrecisionPlan built = plan_of(trial, plan);
  for (const std::string& name : built.keep_float)
    flags += fmt::format(" --keep-float {}", quoted(name));
  for (const PrecisionConstraint& constraint : built.constraints) {
    flags += fmt::format(" {} {}", constraint.output ? "--output-type" : "--precision",
                         quoted(to_string(constraint)));
  }
  return flags;
}

}  // namespace octet::cli
