// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/content_hash.h"
#include "core/file.h"

namespace octet::cuda {
namespace {

namespace fs = std::filesystem;
constexpr u64 kLargest = u64{64} << 20;  // of one file
constexpr char kMagic[8] = {'o', 'c', 't', 'k', 'r', 'n', '0', '1'};

struct Header {
  char magic[8];
  u64 bytes;
  ContentDigest image;  // what it was made from
  ContentDigest code;
};

ContentDigest digest_of(std::span<const char> bytes) {
  ContentHash hash;
  hash.add(std::as_bytes(bytes));
  return hash.digest();
}

ContentDigest digest_of(const KernelImage& image) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(image.text)));
  hash.add(std::as_bytes(std::span(image.options)));
  hash.add(s64{image.compiler_major});
  hash.add(s64{image.compiler_minor});
  return hash.digest();
}

fs::path file_of(const fs::path& folder, const KernelImage& image) {
  return folder / (digest_of(image).hex() + ".kernel");
}

// Another process may remove the same files at the same time.
void make_room(const fs::path& folder) {
  struct Kept {
    fs::file_time_type at;
    fs::path path;
    u64 bytes;
  };
  std::vector<Kept> all;
  u64 total = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".kernel" || !entry.is_regular_file(error)) continue;
    const Kept kept{entry.last_write_time(error), entry.path(), entry.file_size(error)};
    if (error) continue;
    total += kept.bytes;
    all.push_back(kept);
  }
  if (total <= kKernelCacheBytes) return;
  std::ranges::sort(all, {}, &Kept::at);
  for (const Kept& oldest : all) {
    if (total <= kKernelCacheBytes / 4 * 3) return;
    fs::remove(oldest.path, error);
    total -= oldest.bytes;
  }
}

std::vector<char> checked(const KernelImage& image, const std::vector<u8>& file) {
  Header header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const std::span code(reinterpret_cast<const char*>(file.data()) + sizeof header,
                       file.size() - sizeof header);
  const bool whole = std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
                     header.bytes == code.size() && header.image == digest_of(image) &&
                     header.code == digest_of(code);
  return whole ? std::vector<char>(code.begin(), code.end()) : std::vector<char>{};
}

}  // namespace

fs::path kernel_cache_folder() {
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const std::string own = environment("OCTET_KERNEL_CACHE");
  if (own == "off") return {};
  if (!own.empty()) return own;
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return fs::path(cache) / "octet" / "kernels";
  return home.empty() ? fs::path{} : fs::path(home) / ".cache" / "octet" / "kernels";
}

std::vector<char> read_kernel(const KernelImage& image) noexcept try {
  const fs::path folder = kernel_cache_folder();
  if (folder.empty()) return {};
  const fs::path path = file_of(folder, image);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  return checked(image, read_file(path, kLargest));
} catch (...) {
  return {};
}

void keep_kernel(const KernelImage& image, const std::vector<char>& cubin) noexcept try {
  const fs::path folder = kernel_cache_folder();
  if (folder.empty()) return;
  fs::create_directories(folder);
  Header header{
      .magic = {}, .bytes = cubin.size(), .image = digest_of(image), .code = digest_of(cubin)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const fs::path path = file_of(folder, image);
  // A link would be followed: what it leads to is nobody's kernel.
  if (fs::is_symlink(path)) fs::remove(path);
  AtomicFile file(path);
  file.write({reinterpret_cast<const u8*>(&header), sizeof header});
  file.write({reinterpret_cast<const u8*>(cubin.data()), cubin.size()});
  file.commit();
  make_room(folder);
} catch (...) {
  // The next run compiles again.
}

}  // namespace octet::cuda
