// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/network/order_10_8.h"

#if NV_TENSORRT_MAJOR >= 10
#include <algorithm>
#include <cstring>
#include <vector>

namespace octet_trt {
namespace {

using NetworkTable = Padded<apiv::VNetworkDefinition>;

// Where a table has a function (Itanium ABI: a pointer to a virtual member is 1 + 8 * its place).
template <class Member>
size_t place_of(Member member) {
  static_assert(sizeof member == 2 * sizeof(uintptr_t));
  uintptr_t words[2] = {};
  std::memcpy(words, &member, sizeof member);
  return words[0] / sizeof(void*);
}

// In front of the functions stand two words about the class.
constexpr size_t kHead = 2;

std::vector<void*> permuted(void* const* functions) {
  const size_t places = place_of(&NetworkTable::beyond11) + 1;  // the last one behind the end
  std::vector<void*> words(functions - kHead, functions + places);
  const auto at = [&](size_t place) { return words.begin() + static_cast<int64_t>(kHead + place); };
  const size_t cumulative = place_of(&apiv::VNetworkDefinition::addCumulative);
  std::rotate(at(place_of(&apiv::VNetworkDefinition::getBuilder)), at(cumulative),
              at(cumulative + 1));
  return words;
}

}  // namespace

// All calls of our own name the class Network, which is final: they go by no table.
void order_as_10_8(Network& network) {
  void* table = static_cast<NetworkTable*>(&network);
  void** functions = nullptr;
  std::memcpy(&functions, table, sizeof functions);
  // Networks of global objects are called after static objects have ended.
  static const auto* const words = new std::vector<void*>(permuted(functions));
  void* const* moved = words->data() + kHead;
  std::memcpy(table, &moved, sizeof moved);
}

}  // namespace octet_trt
#endif
