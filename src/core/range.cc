// SPDX-License-Identifier: Apache-2.0
#include "octet/range.h"

namespace octet {

std::string_view range_method_name(RangeMethod method) {
  return method == RangeMethod::entropy ? "entropy" : "minmax";
}

}  // namespace octet
