// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/divisor.h"

#include <algorithm>
#include <type_traits>

#include "core/check.h"
#include "core/visit.h"

namespace octet {

void check_constant_divisor(const NodeParser& parser) {
  const Tensor* divisor = parser.constant(1);
  if (divisor == nullptr) return;
  visit_dtype(divisor->dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (std::ranges::find(divisor->as<T>(), T{0}) == divisor->as<T>().end()) return;
      fail(Error::Code::invalid_model, "the divisor is the constant {}, which holds 0",
           to_string(divisor->type()));
    }
  });
}

}  // namespace octet
