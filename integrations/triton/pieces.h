// SPDX-License-Identifier: Apache-2.0
// One tensor of a batch as it lies in the memory of many requests: what lies side by side is read and written in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "triton_api.h"

namespace octet::triton {

// Whose memory: a GPU's number, or the host's.
inline constexpr int kHostMemory = -1;
int memory_owner(TRITONSERVER_MemoryType type, int64_t id);
std::string memory_name(int owner);  // "cpu", "cuda:1"

class Pieces {
 public:
  // Behind those before.
  void add(std::byte* data, uint64_t bytes, int owner);
  // As many bytes that nobody wants.
  void skip(uint64_t bytes) { add(nullptr, bytes, kHostMemory); }

  uint64_t bytes() const { return bytes_; }
  bool any_of(int owner) const;
  // The memory itself where it lies in one piece of `owner`'s; else null.
  std::byte* whole(uint64_t offset, uint64_t bytes, int owner) const;
  // Copies a part of it, out of and into memory of `owner`'s.
  void read(uint64_t offset, uint64_t bytes, std::byte* to, int owner) const;
  void write(uint64_t offset, uint64_t bytes, const std::byte* from, int owner) const;

 private:
  struct Piece {
    std::byte* data;
    uint64_t begin, bytes;
    int owner;
  };
  template <class F>
  void visit(uint64_t offset, uint64_t bytes, const F& f) const;

  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace octet::triton
