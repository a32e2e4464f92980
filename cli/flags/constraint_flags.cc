// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/constraint_flags.h"

#include <fmt/ranges.h>

#include "cli/fail.h"
#include "cli/flags/choice.h"
#include "cli/flags/share_flag.h"
#include "cli/output/terminal.h"

namespace octet::cli {
namespace {

constexpr const char* kTypesGroup = "Types of layers";

// What is wrong goes to `wrong`, flag by flag: one bad type hides no other.
void parse_all(const std::vector<std::string>& texts, bool output,
               std::vector<PrecisionConstraint>& list, std::vector<std::string>& wrong) {
  for (const std::string& text : texts) {
    try {
      const std::vector<PrecisionConstraint> parsed = parse_constraints(text, output);
      list.insert(list.end(), parsed.begin(), parsed.end());
    } catch (const Error& error) {
      wrong.push_back(std::string(output ? "--output-type: " : "--precision: ") + error.message());
    }
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
  app.add_option("--output-type", flags.outputs,
                 "the type of the outputs of matching nodes; repeatable")
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
  std::vector<std::string> wrong;
  parse_all(flags.precisions, false, list, wrong);
  parse_all(flags.outputs, true, list, wrong);
  if (!wrong.empty()) fail(Error::Code::invalid_argument, "{}", fmt::join(wrong, "\n  "));
  return list;
}

void add_time_gate(CLI::App& app, ConstraintFlags& flags) {
  app.add_option(
         "--min-time-coverage", flags.min_time_coverage,
         "likewise where less than PCT % of a run's time is INT8: on random inputs, measured "
         "layer by layer with --threads")
      ->type_name("PCT")
      ->transform(share_in(kPercent))
      ->group(kTypesGroup);
}

std::vector<Threshold> judge_coverage(const ConstraintFlags& flags, const Coverage& coverage) {
  std::vector<Threshold> judged;
  // No gate: of no multiplications no share is below it.
  if (flags.min_coverage && (coverage.macs > 0 || *flags.min_coverage > 0)) {
    const char* what = coverage.macs > 0
                           ? "coverage (per cent of multiplications in INT8)"
                           : "coverage of no multiplications (--min-time-coverage judges by time)";
    judged.push_back(
        at_least("min_coverage", what, 100 * coverage.mac_share(), *flags.min_coverage));
  }
  if (flags.min_time_coverage) {
    judged.push_back(at_least("min_time_coverage", "coverage (per cent of the time in INT8)",
                              100 * coverage.time_share(), *flags.min_time_coverage));
  }
  return judged;
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
