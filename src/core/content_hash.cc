// SPDX-License-Identifier: Apache-2.0
#include "core/content_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace octet {

struct ContentHash::State {
  XXH3_state_t* state = XXH3_createState();
  State() {
    if (state == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state);
  }
  ~State() { XXH3_freeState(state); }
};

std::string ContentDigest::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

ContentDigest& ContentDigest::operator+=(const ContentDigest& other) {
  low += other.low;
  high += other.high + (low < other.low ? 1 : 0);
  return *this;
}

ContentHash::ContentHash() : state_(std::make_unique<State>()) {}
ContentHash::~ContentHash() = default;

ContentDigest digest_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

void ContentHash::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->state, bytes.data(), bytes.size());
}

void ContentHash::add(s64 number) { add(std::as_bytes(std::span(&number, 1))); }

ContentDigest ContentHash::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->state);
  return {hash.low64, hash.high64};
}

}  // namespace octet
