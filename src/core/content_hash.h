// SPDX-License-Identifier: Apache-2.0
// What a model or data are recognised by: XXH3 with 128 bits. Against accidents, not against attackers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/types.h"

namespace octet {

struct ContentDigest {
  u64 low = 0;
  u64 high = 0;

  std::string hex() const;  // 32 digits
  // Of several contents in any order.
  ContentDigest& operator+=(const ContentDigest& other);
  bool operator==(const ContentDigest&) const = default;
};

// Of bytes that are there at once.
ContentDigest digest_of(std::span<const std::byte> bytes);

class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(s64 number);
  ContentDigest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octet
