// SPDX-License-Identifier: Apache-2.0
#include "pieces.h"

#include <algorithm>
#include <cstring>

#include "octet/device_memory.h"

namespace octet::triton {
namespace {

struct Place {
  std::byte* data;
  int owner;
};

void copy(const Place& to, const Place& from, uint64_t bytes) {
  const auto count = static_cast<int64_t>(bytes);
  if (to.owner == kHostMemory && from.owner == kHostMemory) {
    std::memcpy(to.data, from.data, bytes);
  } else if (to.owner == from.owner || to.owner == kHostMemory) {
    copy_memory(to.data, from.data, count, memory_name(from.owner));
  } else if (from.owner == kHostMemory) {
    copy_memory(to.data, from.data, count, memory_name(to.owner));
  } else {  // from one GPU to another
    std::vector<std::byte> between(bytes);
    copy_memory(between.data(), from.data, count, memory_name(from.owner));
    copy_memory(to.data, between.data(), count, memory_name(to.owner));
  }
}

}  // namespace

int memory_owner(TRITONSERVER_MemoryType type, int64_t id) {
  return type == TRITONSERVER_MEMORY_GPU ? static_cast<int>(id) : kHostMemory;
}

std::string memory_name(int owner) {
  return owner == kHostMemory ? "cpu" : "cuda:" + std::to_string(owner);
}

void Pieces::add(std::byte* data, uint64_t bytes, int owner) {
  if (bytes == 0) return;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    const bool goes_on = data == nullptr ? last.data == nullptr
                                         : last.data != nullptr && last.data + last.bytes == data;
    if (goes_on && last.owner == owner) {
      last.bytes += bytes;
      bytes_ += bytes;
      return;
    }
  }
  pieces_.push_back({data, bytes_, bytes, owner});
  bytes_ += bytes;
}

bool Pieces::any_of(int owner) const {
  return std::ranges::any_of(
      pieces_, [&](const Piece& piece) { return piece.data != nullptr && piece.owner == owner; });
}

std::byte* Pieces::whole(uint64_t offset, uint64_t bytes, int owner) const {
  for (const Piece& piece : pieces_) {
    if (offset < piece.begin || offset - piece.begin >= piece.bytes) continue;
    const bool fits = offset - piece.begin + bytes <= piece.bytes;
    return fits && piece.owner == owner && piece.data != nullptr
               ? piece.data + (offset - piece.begin)
               : nullptr;
  }
  return nullptr;
}

// f(the piece's memory, bytes, how far into the part) for each that the part touches.
template <class F>
void Pieces::visit(uint64_t offset, uint64_t bytes, const F& f) const {
  for (const Piece& piece : pieces_) {
    const uint64_t begin = std::max(offset, piece.begin);
    const uint64_t end = std::min(offset + bytes, piece.begin + piece.bytes);
    if (begin >= end || piece.data == nullptr) continue;
    f(Place{piece.data + (begin - piece.begin), piece.owner}, end - begin, begin - offset);
  }
}

void Pieces::read(uint64_t offset, uint64_t bytes, std::byte* to, int owner) const {
  visit(offset, bytes, [&](const Place& from, uint64_t count, uint64_t at) {
    copy({to + at, owner}, from, count);
  });
}

void Pieces::write(uint64_t offset, uint64_t bytes, const std::byte* from, int owner) const {
  visit(offset, bytes, [&](const Place& to, uint64_t count, uint64_t at) {
    copy(to, {const_cast<std::byte*>(from) + at, owner}, count);
  });
}

}  // namespace octet::triton
