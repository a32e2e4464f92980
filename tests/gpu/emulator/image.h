// SPDX-License-Identifier: Apache-2.0
// What stands for a cubin: a shared library of the host whose ELF header holds, in bytes that mean nothing, a mark and a hash of
// the rest. The system's loader wants these bytes to be zero, so the driver takes them out.
#pragma once

#include <elf.h>
#include <xxhash.h>

#include <cstring>
#include <string>

namespace octet::emulator {

inline constexpr size_t kMarkAt = 9, kMarkBytes = 7;  // of e_ident

inline std::string mark_of(const std::string& image) {
  const auto hash = static_cast<unsigned>(XXH3_64bits(image.data() + 16, image.size() - 16));
  std::string mark = "EMU....";
  std::memcpy(mark.data() + 3, &hash, sizeof hash);
  return mark;
}

// The size that the header tells, or 0: the section headers come last.
inline size_t image_size(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  const size_t end = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  return header.e_shoff < (1u << 30) && end > sizeof header ? end : 0;
}

// For which chip it is, as cubins say it: 90 for 9.0, and whether for no other; 0: for any.
struct ImageTarget {
  int number = 0;
  bool alone = false;
};

inline constexpr unsigned kAlone = 1u << 16;

inline ImageTarget image_target(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return {static_cast<int>(header.e_flags & (kAlone - 1)), (header.e_flags & kAlone) != 0};
}

inline bool seal_image(std::string& image) {
  if (image.size() < sizeof(Elf64_Ehdr) || image_size(image.data()) != image.size()) return false;
  image.replace(kMarkAt, kMarkBytes, mark_of(image));
  return true;
}

inline bool is_image(const std::string& image) {
  return image.size() > sizeof(Elf64_Ehdr) &&
         image.compare(kMarkAt, kMarkBytes, mark_of(image)) == 0;
}

inline std::string unsealed(std::string image) {
  image.replace(kMarkAt, kMarkBytes, kMarkBytes, '\0');
  return image;
}

inline void set_image_target(std::string& image, ImageTarget target) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  header.e_flags = static_cast<unsigned>(target.number) | (target.alone ? kAlone : 0);
  std::memcpy(image.data(), &header, sizeof header);
  image.replace(kMarkAt, kMarkBytes, mark_of(image));
}

}  // namespace octet::emulator
