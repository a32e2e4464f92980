// SPDX-License-Identifier: Apache-2.0
#include "cli/constraint_flags.h"

#include <fmt/format.h>

#include "cli/choice.h"
#include "cli/fail.h"
#include "cli/share_flag.h"
#include "cli/terminal.h"

namespace octet::cli {
namespace {

constexpr const char* kTypesGroup = "Types of layers";

void parse_all(const std::vector<std::string>& texts, bool output,
               std::vector<PrecisionConstraint>& list) {
  for (const std::string& text : texts) {
    const std::vector<PrecisionConstraint> parsed = parse_constraints(text, output);
    list.insert(list.end(), parsed.begin(), parsed.end());
  }
}

bool is_asked(const NodePrecision& node) {
  return node.requested != Precision::none || node.requested_output != Precision::none;
}

// "f32 -> int8": what it computes in, then what it gives.
std::string types_text(Precision computes, Precision gives) {
  const auto text = [](Precision precision) {
    return precision == Precision::none ? std::string("-") : std::string(to_string(precision));
  };
  return gives == Precision::none ? text(computes) : text(computes) + " -> " + text(gives);
}

}  // namespace

void add_constraint_flags(CLI::App& app, ConstraintFlags& flags) {
  app.add_option("--precision", flags.precisions,
                 "the type that matching nodes compute in: int8, f32, f16 or bf16; repeatable")
      ->type_name("PATTERN:TYPE[,...]")
      ->allow_extra_args(false)
      ->group(kTypesGroup);
  app.add_option("--output-type", flags.outputs, "the type of what matching nodes give; repeatable")
      ->type_name("PATTERN:TYPE[,...]")
      ->allow_extra_args(false)
      ->group(kTypesGroup);
  add_choice<ConstraintMode>(app, "--constraints", flags.mode,
                             {{"prefer", ConstraintMode::prefer},
                              {"obey", ConstraintMode::obey},
                              {"none", ConstraintMode::none}},
                             "types that cannot be had are a warning (prefer), an error that lists "
                             "them all (obey), or kept beside the result (none)")
      ->group(kTypesGroup);
  app.add_option("--min-coverage", flags.min_coverage,
                 "end with 1, and write nothing, where less than PCT % of the multiplications are "
                 "INT8")
      ->type_name("PCT")
      ->transform(share_in(kPercent))
      ->group(kTypesGroup);
}

std::vector<PrecisionConstraint> constraints_of(const ConstraintFlags& flags) {
  std::vector<PrecisionConstraint> list;
  std::string wrong;
  for (const bool output : {false, true}) {
    try {
      parse_all(output ? flags.outputs : flags.precisions, output, list);
    } catch (const Error& error) {
      wrong += (wrong.empty() ? "" : "\n  ") +
               std::string(output ? "--output-type: " : "--precision: ") + error.message();
    }
  }
  if (!wrong.empty()) fail(Error::Code::invalid_argument, "{}", wrong);
  return list;
}

std::vector<Threshold> judge_coverage(const ConstraintFlags& flags, const Coverage& coverage) {
  if (!flags.min_coverage) return {};
  return {at_least("min_coverage", "coverage (per cent of multiplications in INT8)",
                   100 * coverage.mac_share(), *flags.min_coverage)};
}

void print_nodes(const Inspection& inspection, bool all) {
  Table table({{"NODE", false, 44}, {"LAYER", false, 36}, {"ASKED"}, {"GOT"}, {"WHY", false, 90}});
  size_t rows = 0, violated = 0;
  for (const NodePrecision& node : inspection.nodes) {
    if (!all && !is_asked(node)) continue;
    ++rows;
    violated += node.violated() ? size_t{1} : size_t{0};
    table.add({node.node, node.layer,
               is_asked(node) ? types_text(node.requested, node.requested_output) : "",
               types_text(node.resolved, all || node.requested_output != Precision::none
                                             ? node.resolved_output
                                             : Precision::none) +
                   (node.violated() ? " !" : ""),
               node.reason});
  }
  if (rows == 0) return;
  table.print();
  if (violated > 0) {
    fmt::print("! {} of {} nodes did not get what is asked for (constraints: {})\n", violated, rows,
               to_string(inspection.constraint_mode));
  }
}

}  // namespace octet::cli
