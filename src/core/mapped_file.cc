// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/check.h"
#include "core/file.h"

namespace octet {
namespace {

[[noreturn]] void fail_mapping(const std::filesystem::path& path) {
  const int error = errno;
  fail(Error::Code::io, "'{}': cannot map: {}", path.string(), std::strerror(error));
}

// Memory of so many bytes that are zero, given back with the pointer.
std::shared_ptr<const std::byte> zeros(const std::filesystem::path& path, size_t bytes) {
  void* const room =
      ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) fail_mapping(path);
  return {static_cast<const std::byte*>(room),
          [room, bytes](const std::byte*) { (void)::munmap(room, bytes); }};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const File file(path);
  size = file.size();
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  bytes = zeros(path, (size / page + 2) * page);
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED | MAP_POPULATE;
  auto* const room = const_cast<std::byte*>(bytes.get());  // NOLINT: mapped anew, and never written
  if (size > 0 && ::mmap(room, size, PROT_READ, kFlags, file.descriptor().get(), 0) == MAP_FAILED)
    fail_mapping(path);
  struct stat facts {};
  if (::fstat(file.descriptor().get(), &facts) != 0 || static_cast<u64>(facts.st_size) != size)
    fail(Error::Code::io, "'{}' changed while it was opened", path.string());
}

}  // namespace octet
