// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/expr.h"

#include <algorithm>
#include <utility>

namespace octet_trt {
namespace {

// Of -2^63 by -1 there is none.
int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}

// Nothing where a result does not fit or a divisor is 0.
std::optional<int64_t> computed(DimensionOperation op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case DimensionOperation::kSUM:
      if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
      return result;
    case DimensionOperation::kPROD:
      if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
      return result;
    case DimensionOperation::kSUB:
      if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
      return result;
    case DimensionOperation::kMAX:
      return std::max(a, b);
    case DimensionOperation::kMIN:
      return std::min(a, b);
    case DimensionOperation::kEQUAL:
      return a == b ? 1 : 0;
    case DimensionOperation::kLESS:
      return a < b ? 1 : 0;
    case DimensionOperation::kFLOOR_DIV:
    case DimensionOperation::kCEIL_DIV:
      break;
  }
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  return op == DimensionOperation::kFLOOR_DIV ? floor_div(a, b) : ceil_div(a, b);
}

// The least and the most that an operation gives whose result lies between those of the ends.
std::optional<SizeRange> of_ends(DimensionOperation op, const SizeRange& a, const SizeRange& b) {
  std::optional<SizeRange> range;
  for (const int64_t x : {a.low, a.high}) {
    for (const int64_t y : {b.low, b.high}) {
      const std::optional<int64_t> one = computed(op, x, y);
      if (!one) return std::nullopt;
      if (!range) range = SizeRange{*one, *one};
      range->low = std::min(range->low, *one);
      range->high = std::max(range->high, *one);
    }
  }
  return range;
}

std::optional<SizeRange> computed(DimensionOperation op, const SizeRange& a, SizeRange b) {
  const bool exact = a.low == a.high && b.low == b.high;
  const bool compares = op == DimensionOperation::kEQUAL || op == DimensionOperation::kLESS;
  if (compares && !exact) return SizeRange{0, 1};
  const bool divides = op == DimensionOperation::kFLOOR_DIV || op == DimensionOperation::kCEIL_DIV;
  // A size that is not known yet may be 0, which is an error when it is.
  if (divides && b.low <= 0 && b.high > 0) b.low = 1;
  return of_ends(op, a, b);
}

std::string text_of(const SizeRange& range) {
  return std::to_string(range.low) +
         (range.low == range.high ? "" : " to " + std::to_string(range.high));
}

}  // namespace

const IDimensionExpr* SizeBuilder::add(std::optional<SizeRange> range, bool told, int32_t told_by) {
  return &all_.emplace_back(range, told, told_by);
}

IDimensionExpr const* SizeBuilder::constant(OctetSize value) noexcept {
  return add(SizeRange{value, value});
}

IDimensionExpr const* SizeBuilder::operation(DimensionOperation op, IDimensionExpr const& first,
                                             IDimensionExpr const& second) noexcept {
  if (&first == nullptr || &second == nullptr || !wrong_value(op).empty()) {
    if (problem_.empty())
      problem_ = "operation " + std::to_string(static_cast<int>(op)) + " of null sizes, or none";
    return add(std::nullopt);
  }
  const auto& a = static_cast<const SizeExpr&>(first);
  const auto& b = static_cast<const SizeExpr&>(second);
  const bool told = a.told || b.told;
  if (!a.range || !b.range) return add(std::nullopt, told);
  const std::optional<SizeRange> result = computed(op, *a.range, *b.range);
  if (!result && problem_.empty()) {
    problem_ = "operation " + std::to_string(static_cast<int>(op)) + " of the sizes " +
               text_of(*a.range) + " and " + text_of(*b.range) + " has no result";
  }
  return add(result, told);
}

#if NV_TENSORRT_MAJOR >= 10
IDimensionExpr const* SizeBuilder::declareSizeTensor(int32_t outputIndex, IDimensionExpr const&,
                                                     IDimensionExpr const& upper) noexcept {
  const auto* bound = static_cast<const SizeExpr*>(&upper);
  const std::optional<SizeRange> most = bound == nullptr ? std::nullopt : bound->range;
  if (outputIndex < 0 || bound == nullptr) {
    if (problem_.empty())
      problem_ = "declareSizeTensor(" + std::to_string(outputIndex) + ") names no output" +
                 (bound == nullptr ? ", or a null size" : "");
    return add(most);
  }
  if (std::ranges::find(size_tensors_, outputIndex) == size_tensors_.end())
    size_tensors_.push_back(outputIndex);
  const auto value = values_.find(outputIndex);
  if (value != values_.end())
    return add(SizeRange{value->second, value->second}, true, outputIndex);
  return add(most ? std::optional(SizeRange{0, most->high}) : std::nullopt, true, outputIndex);
}
#endif

DimsExprs SizeBuilder::sizes(const Dims& dims) {
  DimsExprs sizes{};
  sizes.nbDims = dims.nbDims;
  for (int32_t i = 0; i < dims.nbDims; ++i) {
    const int64_t size = dims.d[i];
    sizes.d[i] = add(size < 0 ? std::nullopt : std::optional(SizeRange{size, size}));
  }
  return sizes;
}

DimsExprs SizeBuilder::numbers(const std::vector<std::optional<int64_t>>& numbers) {
  DimsExprs sizes{};
  for (const std::optional<int64_t>& number : numbers)
    sizes.d[sizes.nbDims++] =
        add(number ? std::optional(SizeRange{*number, *number}) : std::nullopt);
  return sizes;
}

Dims SizeBuilder::dims(const DimsExprs& sizes) const {
  if (!problem_.empty()) refuse(problem_);
  if (sizes.nbDims < 0 || sizes.nbDims > Dims::MAX_DIMS)
    refuse(std::to_string(sizes.nbDims) + " dimensions");
  Dims dims{};
  dims.nbDims = sizes.nbDims;
  for (int32_t i = 0; i < sizes.nbDims; ++i) {
    if (sizes.d[i] == nullptr) refuse("dimension " + std::to_string(i) + " is a null pointer");
    const auto& range = static_cast<const SizeExpr*>(sizes.d[i])->range;
    if (range && (range->high < 0 || !std::in_range<OctetSize>(range->high)))
      refuse("a dimension of " + text_of(*range));
    dims.d[i] = static_cast<OctetSize>(range ? range->high : -1);
  }
  return dims;
}

std::vector<bool> SizeBuilder::told(const DimsExprs& sizes) {
  std::vector<bool> told;
  for (int32_t i = 0; i < sizes.nbDims; ++i)
    told.push_back(static_cast<const SizeExpr*>(sizes.d[i])->told);
  return told;
}

}  // namespace octet_trt
