// SPDX-License-Identifier: Apache-2.0
#include "inspect/selftest/difference.h"

#include <fmt/format.h>

namespace octet {

std::string first_difference(const Graph& graph, std::span<const Tensor> got,
                             std::span<const Tensor> want) {
  for (size_t i = 0; i < want.size(); ++i) {
    const s64 bytes = static_cast<s64>(want[i].bytes());
    s64 first = 0, count = 0;
    for (s64 k = bytes - 1; k >= 0; --k) {
      if (got[i].data()[k] != want[i].data()[k]) first = k, ++count;
    }
    if (count > 0) {
      return fmt::format("{} of {} bytes of '{}' are not the reference's, the first is byte {}",
                         count, bytes, graph.value(graph.outputs[i]).name, first);
    }
  }
  return {};
}

}  // namespace octet
