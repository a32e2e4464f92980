// SPDX-License-Identifier: Apache-2.0
// What self_test() runs: float graphs, which it quantizes with made-up ranges. Constants that a text leaves out are weights.
#pragma once

#include <span>
#include <string_view>

namespace octet {

struct SelfTestNetwork {
  std::string_view name;
  std::string_view text;  // graph/text.h
};

std::span<const SelfTestNetwork> self_test_networks();

}  // namespace octet
