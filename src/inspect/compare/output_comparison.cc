// SPDX-License-Identifier: Apache-2.0
#include "octet/output_comparison.h"

#include <fmt/format.h>

#include <cmath>

#include "core/check.h"
#include "core/memory.h"
#include "core/small_types.h"
#include "inspect/compare/error_map.h"
#include "inspect/compare/sample_errors.h"
#include "inspect/compare/top_indices.h"

namespace octet {
namespace {

bool is_real_number(Dtype dtype) {
  if (is_small_dtype(dtype)) return !is_small_integer(dtype);
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f64;
}

void check_comparable(std::span<const OutputComparison> outputs, const std::string& sample,
                      std::span<const Tensor> reference, std::span<const Tensor> tested) {
  OCTET_CHECK(reference.size() == outputs.size() && tested.size() == outputs.size());
  std::string wrong;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorType &r = reference[i].type(), &t = tested[i].type();
    if (r.shape == t.shape && comparable(r.dtype, t.dtype)) continue;
    wrong += fmt::format("\n  '{}' is {}, and {} in the reference", outputs[i].name, to_string(t),
                         to_string(r));
  }
  if (!wrong.empty())
    fail(Error::Code::invalid_argument, "{}: outputs that cannot be compared:{}", sample, wrong);
}

void count_not_finite(const std::vector<f64>& values, NotFinite& count) {
  for (const f64 value : values) {
    count.nan += std::isnan(value) ? 1 : 0;
    count.infinite += std::isinf(value) ? 1 : 0;
  }
}

// NaN is larger than any number.
void raise_to(f64 value, f64& most) {
  if (!(value <= most)) most = std::isnan(most) ? most : value;
}

void raise_to(const ErrorSpread& spread, ErrorSpread& most) {
  raise_to(spread.max, most.max);
  raise_to(spread.mean, most.mean);
  raise_to(spread.median, most.median);
  raise_to(spread.quantile, most.quantile);
}

f64 statistic_of(const ErrorSpread& spread, ErrorStatistic statistic) {
  switch (statistic) {
    case ErrorStatistic::mean:
      return spread.mean;
    case ErrorStatistic::median:
      return spread.median;
    case ErrorStatistic::quantile:
      return spread.quantile;
    case ErrorStatistic::elementwise:
    case ErrorStatistic::max:
      break;
  }
  return spread.max;
}

void judge_sample(const SampleErrors& errors, OutputComparison& output) {
  const Tolerance& tolerance = output.tolerance;
  const ErrorSpread absolute = spread_of(errors.absolute, tolerance.quantile);
  const ErrorSpread relative = spread_of(errors.relative, tolerance.quantile);
  raise_to(absolute, output.absolute);
  raise_to(relative, output.relative);
  s64 beyond = 0;
  for (size_t i = 0; i < errors.absolute.size(); ++i) {
    beyond += tolerance.passes(errors.absolute[i], errors.relative[i]) ? 0 : 1;
    output.zeros += errors.reference[i] == 0 ? 1 : 0;
  }
  output.beyond += beyond;
  const bool passed = tolerance.statistic == ErrorStatistic::elementwise
                          ? beyond == 0
                          : tolerance.passes(statistic_of(absolute, tolerance.statistic),
                                             statistic_of(relative, tolerance.statistic));
  output.failed_samples += passed ? 0 : 1;
}

}  // namespace

bool comparable(Dtype a, Dtype b) { return a == b || (is_real_number(a) && is_real_number(b)); }

OutputComparer::OutputComparer(std::span<const std::string> names, ComparisonOptions options)
    : options_(std::move(options)), outputs_(names.size()) {
  OCTET_CHECK(options_.tolerances.empty() || options_.tolerances.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    outputs_[i].name = names[i];
    if (!options_.tolerances.empty()) outputs_[i].tolerance = options_.tolerances[i];
  }
}

void OutputComparer::add(const std::string& sample, std::span<const Tensor> reference,
                         std::span<const Tensor> tested) {
  check_comparable(outputs_, sample, reference, tested);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    OutputComparison& output = outputs_[i];
    constexpr s64 kBytesPerElement = 7 * sizeof(f64);  // values and errors, and what sorts them
    const Reserved reserved(tested[i].elements() * kBytesPerElement,
                            "the errors of '" + output.name + "'");
    const SampleErrors errors = sample_errors(reference[i], tested[i], options_.equal_infinities);
    ++output.samples;
    output.elements += tested[i].elements();
    count_not_finite(errors.tested, output.tested);
    count_not_finite(errors.reference, output.reference);
    judge_sample(errors, output);
    if (options_.top > 0)
      add_to_top(tested[i].shape(), errors.reference, errors.tested, options_, output.top);
    add_to_map(tested[i].shape(), errors, output.map);
  }
}

}  // namespace octet
