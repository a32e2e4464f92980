// SPDX-License-Identifier: Apache-2.0
#include "cubin.h"

#include <elf.h>

#include <cstring>
#include <map>

#include "core/check.h"

namespace octet::test {
namespace {

constexpr std::string_view kKernel = "octet_kernel";

template <class T>
T read_at(std::span<const char> file, u64 at) {
  if (at + sizeof(T) > file.size()) fail(Error::Code::internal, "the machine code ends early");
  T value;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

// Sections by name.
std::map<std::string, Elf64_Shdr> sections_of(std::span<const char> file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    fail(Error::Code::internal, "the machine code is no ELF file");
  const auto section = [&](u64 i) {
    return read_at<Elf64_Shdr>(file, header.e_shoff + i * header.e_shentsize);
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  std::map<std::string, Elf64_Shdr> sections;
  for (u64 i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr own = section(i);
    std::string name;
    for (u64 at = names.sh_offset + own.sh_name; read_at<char>(file, at) != 0; ++at)
      name += file[at];
    sections.emplace(std::move(name), own);
  }
  return sections;
}

// Attributes: a format, a kind, a size, and as many bytes; those that a kernel has are its symbol and a value.
s64 registers_of(std::span<const char> file, const Elf64_Shdr& info) {
  constexpr u8 kSized = 4, kRegisters = 0x2F;
  for (u64 at = info.sh_offset; at < info.sh_offset + info.sh_size;) {
    const auto format = read_at<u8>(file, at), kind = read_at<u8>(file, at + 1);
    const u16 bytes = format == kSized ? read_at<u16>(file, at + 2) : u16{0};
    at += 4;
    if (format == kSized && kind == kRegisters) return read_at<u32>(file, at + 4);
    at += bytes;
  }
  fail(Error::Code::internal, "the machine code does not say how many registers it takes");
}

// The lowest nine bits of an opcode are the operation, the three above say where its operands come from.
void count(u64 instruction, CubinFacts& facts) {
  constexpr u64 kOperation = 0x1FF;
  constexpr u64 kLoadLocal = 0x183, kStoreLocal = 0x187, kImma = 0x037, kIgmma = 0x1F1,
                kHgmma = 0x1F0, kIdp = 0x026;
  const u64 operation = instruction & kOperation;
  ++facts.instructions;
  facts.spills += operation == kLoadLocal || operation == kStoreLocal;
  facts.warp_products += operation == kImma;
  facts.group_products += operation == kIgmma || operation == kHgmma;
  facts.dot_products += operation == kIdp;
}

}  // namespace

CubinFacts read_cubin(std::span<const char> file) {
  const auto sections = sections_of(file);
  const auto code = sections.find(fmt::format(".text.{}", kKernel));
  const auto info = sections.find(".nv.info");
  if (code == sections.end() || info == sections.end())
    fail(Error::Code::internal, "the machine code has no {}", kKernel);
  CubinFacts facts;
  facts.registers = registers_of(file, info->second);
  const auto shared = sections.find(fmt::format(".nv.shared.{}", kKernel));
  if (shared != sections.end()) facts.shared_bytes = static_cast<s64>(shared->second.sh_size);
  constexpr u64 kInstructionBytes = 16;
  for (u64 at = 0; at < code->second.sh_size; at += kInstructionBytes)
    count(read_at<u64>(file, code->second.sh_offset + at), facts);
  return facts;
}

}  // namespace octet::test
