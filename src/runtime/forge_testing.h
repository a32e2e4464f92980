// SPDX-License-Identifier: Apache-2.0
// Engine files as somebody would forge them who knows the format: sections of any content under right checksums.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace octet::test {

// The layout of src/runtime/engine_file.h, written down a second time on purpose.
struct FileHeader {
  char magic[8] = {'O', 'C', 'T', 'E', 'T', 'E', 'N', 'G'};
  u32 format = 1;
  u32 sections = 3;
  u64 file_bytes = 0;
  u64 checksum = 0;
};
struct FileSection {
  char name[8] = {};
  u64 offset = 0;
  u64 bytes = 0;
  u64 checksum = 0;
};
struct FileHead {
  FileHeader header;
  std::array<FileSection, 3> sections;
};
static_assert(sizeof(FileHead) == 128);

// Makes every checksum of `file` right, as far as its table points inside it. Files of format 3 have a section more.
inline void repair(std::span<std::byte> file) {
  FileHeader header;
  if (file.size() < sizeof(FileHead)) return;
  std::memcpy(&header, file.data(), sizeof header);
  std::vector<FileSection> sections(header.format >= 3 ? 4 : 3);
  const size_t table = sections.size() * sizeof(FileSection);
  if (file.size() < sizeof header + table) return;
  std::memcpy(sections.data(), file.data() + sizeof header, table);
  for (FileSection& section : sections) {
    if (section.offset > file.size() || section.bytes > file.size() - section.offset) continue;
    section.checksum = XXH3_64bits(file.data() + section.offset, section.bytes);
  }
  header.checksum = 0;
  const u64 seed = XXH3_64bits(&header, sizeof header);
  header.checksum = XXH3_64bits_withSeed(sections.data(), table, seed);
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, sections.data(), table);
}

// `qdq`: the graph with Q/DQ, which files of format 3 alone have; empty: none.
inline std::vector<std::byte> forge(std::string_view manifest, std::string_view graph,
                                    std::string_view blobs, std::string_view qdq = {}) {
  constexpr size_t kAlignment = 64;
  const std::string_view names[] = {"manifest", "graph", "blobs", "qdq"};
  const std::string_view contents[] = {manifest, graph, blobs, qdq};
  FileHeader header;
  if (!qdq.empty()) header.format = 3;
  header.sections = qdq.empty() ? 3 : 4;
  std::vector<FileSection> sections(header.sections);
  std::vector<std::byte> file(sizeof header + sections.size() * sizeof(FileSection));
  for (size_t i = 0; i < sections.size(); ++i) {
    file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment);
    std::memcpy(sections[i].name, names[i].data(), names[i].size());
    sections[i].offset = file.size();
    sections[i].bytes = contents[i].size();
    const auto* from = reinterpret_cast<const std::byte*>(contents[i].data());
    file.insert(file.end(), from, from + contents[i].size());
  }
  header.file_bytes = file.size();
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, sections.data(), sections.size() * sizeof(FileSection));
  repair(file);
  return file;
}

// The file with another text in place of one section: 0 manifest, 1 graph, 2 blobs, 3 the graph with Q/DQ.
inline std::vector<std::byte> with_section(std::span<const std::byte> file, size_t index,
                                           std::string_view text) {
  constexpr size_t kAlignment = 64;
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  std::vector<FileSection> sections(header.sections);
  std::memcpy(sections.data(), file.data() + sizeof header, sections.size() * sizeof(FileSection));
  std::vector<std::byte> made(sizeof header + sections.size() * sizeof(FileSection));
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto old = file.subspan(sections[i].offset, sections[i].bytes);
    const auto content = i == index ? std::as_bytes(std::span(text)) : old;
    made.resize((made.size() + kAlignment - 1) / kAlignment * kAlignment);
    sections[i].offset = made.size();
    sections[i].bytes = content.size();
    made.insert(made.end(), content.begin(), content.end());
  }
  header.file_bytes = made.size();
  std::memcpy(made.data(), &header, sizeof header);
  std::memcpy(made.data() + sizeof header, sections.data(), sections.size() * sizeof(FileSection));
  repair(made);
  return made;
}

inline std::string section_text(std::span<const std::byte> file, size_t index) {
  FileSection section;
  std::memcpy(&section, file.data() + sizeof(FileHeader) + index * sizeof section, sizeof section);
  return {reinterpret_cast<const char*>(file.data()) + section.offset, section.bytes};
}

// Storage of exactly this size, so that the address sanitizer sees one byte too many.
inline std::shared_ptr<const std::byte> exact_copy(std::span<const std::byte> bytes) {
  // posix_memalign and not aligned_alloc: the size need not be a multiple of the alignment.
  void* memory = nullptr;
  if (::posix_memalign(&memory, 64, bytes.size()) != 0) std::abort();
  std::shared_ptr<std::byte> copy(static_cast<std::byte*>(memory), std::free);
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace octet::test
