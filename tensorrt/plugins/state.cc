// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/state.h"

#include <algorithm>

namespace octet_trt {
namespace {

// Behind the state lies memory of ours, so that who writes too much is found and nothing breaks.
constexpr size_t kGuard = size_t{64} << 10;
constexpr char kMark = '\x5a';

}  // namespace

std::string written_state(const PluginName& name, size_t size,
                          const std::function<void(void*)>& serialize) {
  if (size > kMaxPluginBytes) {
    plugin_failed(name, "getSerializationSize() says " + std::to_string(size) +
                            " bytes; the limit is " + std::to_string(kMaxPluginBytes));
  }
  std::string state(size + kGuard, '\0');
  std::fill(state.begin() + static_cast<std::ptrdiff_t>(size), state.end(), kMark);
  serialize(state.data());
  const auto guard = state.begin() + static_cast<std::ptrdiff_t>(size);
  const auto last = std::find_if(state.rbegin(), state.rend() - static_cast<std::ptrdiff_t>(size),
                                 [](char c) { return c != kMark; });
  if (last.base() != guard) {
    plugin_failed(name, "serialize() wrote " + std::to_string(last.base() - state.begin()) +
                            " bytes, and getSerializationSize() says " + std::to_string(size));
  }
  state.resize(size);
  return state;
}

}  // namespace octet_trt
