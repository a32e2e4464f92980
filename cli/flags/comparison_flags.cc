// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/comparison_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/flags/share_flag.h"
#include "cli/output/terminal.h"
#include "octet/json.h"

namespace octet::cli {
namespace {

constexpr int64_t kMostTop = 1'000'000;
constexpr const char* kJudgingGroup = "Judging outputs";

void add_text_flag(CLI::App& app, const char* flag, std::vector<std::string>& texts,
                   const char* type, const char* help) {
  app.add_option(flag, texts, help)->type_name(type)->allow_extra_args(false)->group(kJudgingGroup);
}

int64_t failed_outputs(std::span<const OutputComparison> outputs) {
  return std::ranges::count_if(outputs, [](const auto& output) { return !output.passed(); });
}

int64_t not_finite(std::span<const OutputComparison> outputs) {
  return std::accumulate(outputs.begin(), outputs.end(), int64_t{0},
                         [](int64_t sum, const OutputComparison& output) {
                           return sum + output.tested.count() + output.reference.count();
                         });
}

double least_share(std::span<const OutputComparison> outputs) {
  double least = 1;
  for (const OutputComparison& output : outputs) least = std::min(least, output.top.share());
  return least;
}

std::string error_text(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{:.4g}", value);
}

void add_spread(const std::string& name, const char* kind, const ErrorSpread& spread,
                Table& table) {
  table.add({name, kind, error_text(spread.max), error_text(spread.mean), error_text(spread.median),
             error_text(spread.quantile)});
}

// "99 %", or what the column is where outputs have others.
std::string quantile_title(std::span<const OutputComparison> outputs) {
  const double first = outputs[0].tolerance.quantile;
  const bool one = std::ranges::all_of(
      outputs, [&](const auto& output) { return output.tolerance.quantile == first; });
  return one ? fmt::format("{:g} %", 100 * first) : "QUANTILE";
}

void print_errors(std::span<const OutputComparison> outputs) {
  Table table({{"ERRORS OF", false, 60},
               {""},
               {"MAX", true},
               {"MEAN", true},
               {"MEDIAN", true},
               {quantile_title(outputs), true}});
  for (const OutputComparison& output : outputs) {
    add_spread(output.name, "absolute", output.absolute, table);
    add_spread("", "relative", output.relative, table);
  }
  table.print();
}

void print_tolerances(std::span<const OutputComparison> outputs) {
  Table table({{"TOLERANCES OF", false, 60},
               {"CHECK"},
               {"ATOL", true},
               {"RTOL", true},
               {"ELEMENTS BEYOND", true},
               {"SAMPLES", true},
               {""}});
  for (const OutputComparison& output : outputs) {
    const Tolerance& tolerance = output.tolerance;
    table.add({output.name, std::string(to_string(tolerance.statistic)),
               fmt::format("{:g}", tolerance.absolute), fmt::format("{:g}", tolerance.relative),
               fmt::format("{} of {}", output.beyond, output.elements),
               fmt::format("{} of {}", output.failed_samples, output.samples),
               output.passed() ? "passed" : "FAILED"});
  }
  table.print();
}

void print_top(std::span<const OutputComparison> outputs) {
  Table table({{"TOP INDICES OF", false, 60}, {"COUNT", true}, {"SAME", true}, {"", true}});
  for (const OutputComparison& output : outputs) {
    table.add({output.name, fmt::format("{}", output.top.count),
               fmt::format("{} of {} rows", output.top.same, output.top.rows),
               percent(output.top.share())});
  }
  table.print();
}

void print_not_finite(const char* whose, const std::string& name, const NotFinite& count) {
  if (count.count() == 0) return;
  fmt::print("'{}' of the {} has {} NaN and {} infinite values\n", sanitize(name), whose, count.nan,
             count.infinite);
}

void print_validity(bool asked, std::span<const OutputComparison> outputs) {
  for (const OutputComparison& output : outputs) {
    print_not_finite("engine", output.name, output.tested);
    print_not_finite("reference", output.name, output.reference);
  }
  if (asked && not_finite(outputs) == 0) fmt::print("all values are finite\n");
}

}  // namespace

bool ComparisonFlags::judges_tolerances() const {
  return !tolerances.absolute.empty() || !tolerances.relative.empty() ||
         !tolerances.statistics.empty();
}

bool ComparisonFlags::any() const {
  return judges_tolerances() || !tolerances.quantiles.empty() || equal_infinities || top > 0 ||
         validate;
}

void add_comparison_flags(CLI::App& app, ComparisonFlags& flags) {
  add_text_flag(app, "--atol", flags.tolerances.absolute, "[NAME:]X",
                "exit code 1 where errors are beyond this absolute tolerance and the relative one "
                "[1e-5]; repeatable");
  add_text_flag(app, "--rtol", flags.tolerances.relative, "[NAME:]X",
                "the relative one, of the reference's magnitude [1e-5]; repeatable");
  add_text_flag(app, "--check-error-stat", flags.tolerances.statistics,
                "[NAME:]elemwise|max|mean|median|quantile",
                "what of a sample's errors is held against them [elemwise]; repeatable");
  add_text_flag(app, "--quantile", flags.tolerances.quantiles, "[NAME:]Q",
                "the quantile, 0..1 [0.99]; repeatable");
  app.add_flag("--infinities-compare-equal", flags.equal_infinities,
               "equal infinite values have no error, else NaN")
      ->group(kJudgingGroup);
  app.add_option("--top-k", flags.top, "compare the places of the K largest values of each row")
      ->type_name("K")
      ->check(from_to(int64_t{1}, kMostTop))
      ->group(kJudgingGroup);
  app.add_option("--index-tolerance", flags.index_tolerance,
                 "how many places apart an index may stand [0]")
      ->type_name("N")
      ->check(from_to(int64_t{0}, kMostTop))
      ->group(kJudgingGroup);
  app.add_option("--min-top-k", flags.min_top,
                 "exit code 1 when a smaller share of rows has the same indices")
      ->type_name("X")
      ->transform(share_in(kFraction))
      ->group(kJudgingGroup);
  app.add_flag("--validate", flags.validate, "exit code 1 where a value is NaN or infinite")
      ->group(kJudgingGroup);
}

ComparisonOptions comparison_options(const ComparisonFlags& flags,
                                     std::span<const TensorInfo> outputs) {
  if (flags.top == 0 && (flags.min_top || flags.index_tolerance > 0))
    fail(Error::Code::invalid_argument, "--min-top-k and --index-tolerance need --top-k");
  return {.tolerances = parse_tolerances(flags.tolerances, tensor_names(outputs)),
          .equal_infinities = flags.equal_infinities,
          .top = flags.top,
          .index_tolerance = flags.index_tolerance};
}

Tolerance general_tolerance(const ComparisonFlags& flags) {
  const auto unnamed = [](std::vector<std::string> texts) {
    std::erase_if(texts, [](const std::string& text) { return text.find(':') != text.npos; });
    return texts;
  };
  const std::string all[] = {"all"};
  return parse_tolerances({.absolute = unnamed(flags.tolerances.absolute),
                           .relative = unnamed(flags.tolerances.relative),
                           .statistics = {},
                           .quantiles = {}},
                          all)[0];
}

void add_judgments(const ComparisonFlags& flags, std::span<const OutputComparison> outputs,
                   std::vector<Threshold>& judged) {
  if (flags.judges_tolerances()) {
    judged.push_back(at_most("tolerances", "outputs beyond their tolerances",
                             static_cast<double>(failed_outputs(outputs)), 0));
  }
  if (flags.min_top) {
    judged.push_back(at_least("min_top_k", "rows with the same top indices", least_share(outputs),
                              *flags.min_top));
  }
  if (flags.validate) {
    judged.push_back(at_most("validate", "values that are NaN or infinite",
                             static_cast<double>(not_finite(outputs)), 0));
  }
}

void print_comparison(const ComparisonFlags& flags, std::span<const OutputComparison> outputs) {
  if (outputs.empty()) return;
  fmt::print("\n");
  print_errors(outputs);
  if (flags.judges_tolerances()) {
    fmt::print("\n");
    print_tolerances(outputs);
  }
  if (flags.top > 0) {
    fmt::print("\n");
    print_top(outputs);
  }
  print_validity(flags.validate, outputs);
}

void add_comparison(const OutputComparison& comparison, nlohmann::ordered_json& output) {
  const nlohmann::ordered_json all = parsed(to_json(comparison));
  for (const auto& [key, value] : all.items()) {
    if (!output.contains(key)) output[key] = value;
  }
}

}  // namespace octet::cli
