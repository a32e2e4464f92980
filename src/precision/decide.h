// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "graph/graph.h"

namespace octet {

inline Decision decide_real(ReasonCode code, std::string reason) {
  return {Precision::f32, code, std::move(reason)};
}

inline Decision decide_int8(ReasonCode code, std::string reason) {
  return {Precision::int8, code, std::move(reason)};
}

}  // namespace octet
