// SPDX-License-Identifier: Apache-2.0
#include "plugin_expr.h"

#include <algorithm>
#include <utility>

namespace octet_trt {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
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
  return op == DimensionOperation::kFLOOR_DIV ? floor_div(a, b) : -floor_div(-a, b);
}

}  // namespace

const IDimensionExpr* SizeBuilder::add(std::optional<int64_t> value) {
  return &all_.emplace_back(value);
}

IDimensionExpr const* SizeBuilder::constant(OctetSize value) noexcept { return add(value); }

IDimensionExpr const* SizeBuilder::operation(DimensionOperation op, IDimensionExpr const& first,
                                             IDimensionExpr const& second) noexcept {
  const auto& a = static_cast<const SizeExpr&>(first).value;
  const auto& b = static_cast<const SizeExpr&>(second).value;
  if (!a || !b) return add(std::nullopt);
  const std::optional<int64_t> result = computed(op, *a, *b);
  if (!result && problem_.empty()) {
    problem_ = "operation " + std::to_string(static_cast<int>(op)) + " of the sizes " +
               std::to_string(*a) + " and " + std::to_string(*b) + " has no result";
  }
  return add(result);
}

#if NV_TENSORRT_MAJOR >= 10
IDimensionExpr const* SizeBuilder::declareSizeTensor(int32_t outputIndex, IDimensionExpr const&,
                                                     IDimensionExpr const&) noexcept {
  problem_ = "declareSizeTensor(" + std::to_string(outputIndex) +
             "): results whose sizes depend on data are not supported for plugins";
  return add(std::nullopt);
}
#endif

DimsExprs SizeBuilder::sizes(const Dims& dims) {
  DimsExprs sizes{};
  sizes.nbDims = dims.nbDims;
  for (int32_t i = 0; i < dims.nbDims; ++i) {
    const int64_t size = dims.d[i];
    sizes.d[i] = add(size < 0 ? std::nullopt : std::optional<int64_t>(size));
  }
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
    const auto& value = static_cast<const SizeExpr*>(sizes.d[i])->value;
    if (value && (*value < 0 || !std::in_range<OctetSize>(*value)))
      refuse("a dimension of " + std::to_string(*value));
    dims.d[i] = static_cast<OctetSize>(value.value_or(-1));
  }
  return dims;
}

}  // namespace octet_trt
