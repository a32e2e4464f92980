// SPDX-License-Identifier: Apache-2.0
#include "octet/precision.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/types.h"

namespace octet {
namespace {

constexpr int kFirstType = static_cast<int>(Precision::f32);
constexpr int kPrecisionCount = kFirstType + kDtypeCount;
static_assert(static_cast<int>(Precision::u2) + 1 == kPrecisionCount);

constexpr ReasonCode kListed[] = {
#define REASON(code, precision, meaning, remedy) ReasonCode::code,
#include "core/reasons.def"
#undef REASON
};
constexpr std::string_view kReasonNames[] = {
    "",
#define REASON(code, precision, meaning, remedy) #code,
#include "core/reasons.def"
#undef REASON
};
constexpr std::string_view kRemedies[] = {
    "",
#define REASON(code, precision, meaning, remedy) remedy,
#include "core/reasons.def"
#undef REASON
};
static_assert(std::size(kReasonNames) == kReasonCodeCount);
static_assert([] {
  for (size_t i = 0; i < std::size(kListed); ++i) {
    if (static_cast<size_t>(kListed[i]) != i + 1) return false;
  }
  return true;
}());

}  // namespace

std::string_view to_string(Precision precision) {
  if (precision == Precision::none) return "";
  if (precision == Precision::int8) return "int8";
  return dtype_name(static_cast<Dtype>(static_cast<int>(precision) - kFirstType));
}

std::optional<Precision> precision_from(std::string_view name) {
  for (int i = 1; i < kPrecisionCount; ++i) {
    const auto precision = static_cast<Precision>(i);
    if (to_string(precision) == name) return precision;
  }
  return std::nullopt;
}

Precision precision_of(Dtype dtype) {
  return static_cast<Precision>(kFirstType + static_cast<int>(dtype));
}

std::string_view to_string(ReasonCode code) { return kReasonNames[static_cast<size_t>(code)]; }

std::string_view remedy_of(ReasonCode code) { return kRemedies[static_cast<size_t>(code)]; }

std::optional<ReasonCode> reason_code_from(std::string_view name) {
  const auto* const at = std::find(std::begin(kReasonNames) + 1, std::end(kReasonNames), name);
  if (at == std::end(kReasonNames)) return std::nullopt;
  return static_cast<ReasonCode>(at - std::begin(kReasonNames));
}

}  // namespace octet
