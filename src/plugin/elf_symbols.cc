// SPDX-License-Identifier: Apache-2.0
#include "plugin/elf_symbols.h"

#include <elf.h>

#include <cstring>
#include <optional>

#include "core/file.h"
#include "core/types.h"

namespace octet {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

class ElfReader {
 public:
  explicit ElfReader(const std::vector<u8>& bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> at(u64 offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::string text(u64 offset) const {
    if (offset >= bytes_.size()) return {};
    const char* from = reinterpret_cast<const char*>(bytes_.data() + offset);
    return {from, strnlen(from, bytes_.size() - offset)};
  }

 private:
  const std::vector<u8>& bytes_;
};

bool is_exported(const Elf64_Sym& symbol) {
  const u8 visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && symbol.st_shndx != SHN_UNDEF &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

std::vector<std::string> exported_symbols(const std::filesystem::path& library) {
  const File file(library);
  std::vector<std::string> names;
  if (file.size() > kMostBytes) return names;
  std::vector<u8> bytes(file.size());
  file.read_at(0, bytes);
  const ElfReader reader(bytes);
  const auto header = reader.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return names;
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return names;
  const auto section = [&](u64 i) {
    return reader.at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (u64 i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table || table->sh_type != SHT_DYNSYM) continue;
    const auto strings = section(table->sh_link);
    for (u64 at = 0; strings && at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = reader.at<Elf64_Sym>(table->sh_offset + at);
      if (!symbol) break;
      if (is_exported(*symbol)) names.push_back(reader.text(strings->sh_offset + symbol->st_name));
    }
  }
  return names;
}

}  // namespace octet
