// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/file.h"
#include "octet/warm.h"

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

// Machine code runs with all rights of this process: who else could have written it? Empty: nobody but this user and root.
std::string_view distrust(const struct stat& facts) {
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid()) return "belongs to another user";
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "may be written by other users";
  return {};
}

// A kernel's file under its one name.
bool is_ours(const struct stat& facts) {
  return S_ISREG(facts.st_mode) && facts.st_nlink == 1 && distrust(facts).empty();
}

// Makes what is missing of the folder, whatever the process's mask is. The errno of the first part that could not be made; 0: all is there.
int make_folders(const fs::path& folder, mode_t mode) {
  fs::path made;
  for (const fs::path& part : folder) {
    made /= part;
    if (::mkdir(made.c_str(), mode) == 0 && ::chmod(made.c_str(), mode) == 0) continue;
    const int why = errno;
    std::error_code error;
    if (!fs::is_directory(made, error)) return why;
  }
  return 0;
}

// Whether somebody wanted it there: what a run keeps is its user's alone.
bool is_shared(const fs::directory_entry& entry) {
  std::error_code error;
  return (entry.status(error).permissions() & fs::perms::others_read) != fs::perms::none;
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
    if (is_shared(entry)) continue;
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

constexpr mode_t kOwnFolder = S_IRWXU, kOwnFile = S_IRUSR | S_IWUSR;
constexpr mode_t kSharedFolder = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH,
                 kSharedFile = kOwnFile | S_IRGRP | S_IROTH;

void write_file(const fs::path& path, const KernelImage& image, const std::vector<char>& cubin,
                mode_t mode) {
  Header header{
      .magic = {}, .bytes = cubin.size(), .image = digest_of(image), .code = digest_of(cubin)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  // A link would be followed: what it leads to is nobody's kernel. A file that others can write would stay so.
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode) && !is_ours(facts))
    fs::remove(path);
  AtomicFile file(path, mode);
  file.write({reinterpret_cast<const u8*>(&header), sizeof header});
  file.write({reinterpret_cast<const u8*>(cubin.data()), cubin.size()});
  file.commit();
}

// Why the first kernel of this process that was compiled could not be kept.
class Unkept {
 public:
  void note(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = why;
  }
  std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::string why_;
};

Unkept& unkept() {
  static Unkept noted;
  return noted;
}

// By all: what octet warm leaves is for others.
void make_readable(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & kSharedFile) == kSharedFile) return;
  if (::chmod(path.c_str(), kSharedFile) != 0)
    fail(Error::Code::io, "'{}': cannot be made readable: {}", path.string(), std::strerror(errno));
}

void keep(const fs::path& folder, const KernelImage& image, const std::vector<char>& cubin) {
  if (const int why = make_folders(folder, kOwnFolder); why != 0)
    return unkept().note(
        fmt::format("'{}' cannot be made: {}", folder.string(), std::strerror(why)));
  if (const std::string why = why_not_trusted(folder); !why.empty()) return unkept().note(why);
  write_file(file_of(folder, image), image, cubin, kOwnFile);
  make_room(folder);
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

std::string why_not_trusted(const fs::path& folder) {
  struct stat facts {};
  const Descriptor open = open_file(folder, O_PATH | O_DIRECTORY);
  if (!open || ::fstat(open.get(), &facts) != 0)
    return fmt::format("'{}': {}", folder.string(), std::strerror(errno));
  const std::string_view why = distrust(facts);
  return why.empty() ? "" : fmt::format("'{}' {}", folder.string(), why);
}

std::string kernel_cache_doubt() {
  const fs::path folder = kernel_cache_folder();
  std::error_code error;
  if (folder.empty() || !fs::exists(folder, error)) return {};
  const std::string why = why_not_trusted(folder);
  return why.empty() ? "" : "compiled kernels are not kept: " + why;
}

std::vector<char> read_kernel(const KernelImage& image) noexcept {
  return read_kernel(kernel_cache_folder(), image);
}

std::vector<char> read_kernel(const fs::path& folder, const KernelImage& image) noexcept try {
  if (folder.empty() || !why_not_trusted(folder).empty()) return {};
  const fs::path path = file_of(folder, image);
  // Judged when it is open: the name may be another file's a moment later.
  Descriptor open = open_file(path, O_RDONLY | O_NOFOLLOW);
  struct stat facts {};
  if (!open || ::fstat(open.get(), &facts) != 0 || !is_ours(facts)) return {};
  return checked(image, read_file(File(path.string(), std::move(open)), kLargest));
} catch (...) {
  return {};
}

void keep_kernel(const KernelImage& image, const std::vector<char>& cubin) noexcept try {
  const fs::path folder = kernel_cache_folder();
  if (folder.empty()) return;
  try {
    keep(folder, image, cubin);
  } catch (const Error& error) {
    unkept().note(error.message());
  }
} catch (...) {
  // The next run compiles again.
}

void open_shared_cache(const fs::path& folder) {
  if (const int why = make_folders(folder, kSharedFolder); why != 0)
    fail(Error::Code::io, "'{}' cannot be made: {}", folder.string(), std::strerror(why));
  if (::access(folder.c_str(), W_OK) != 0)
    fail(Error::Code::io, "'{}' cannot be written: {}", folder.string(), std::strerror(errno));
  if (const std::string why = why_not_trusted(folder); !why.empty())
    fail(Error::Code::invalid_argument,
         "{}: machine code is not taken from there; make the folder yours (chmod go-w), or name "
         "another",
         why);
}

bool share_kernel(const fs::path& folder, const KernelImage& image) {
  if (read_kernel(folder, image).empty()) return false;
  make_readable(file_of(folder, image));
  return true;
}

void write_shared_kernel(const fs::path& folder, const KernelImage& image,
                         const std::vector<char>& cubin) {
  const fs::path path = file_of(folder, image);
  write_file(path, image, cubin, kSharedFile);
  make_readable(path);  // the mask of who builds an image is not for who runs it
}

}  // namespace octet::cuda

namespace octet {

std::string unkept_kernels() {
  const std::string why = cuda::unkept().why();
  return why.empty()
             ? ""
             : "compiled kernels are not kept, and the next process compiles them again: " + why +
                   "; OCTET_KERNEL_CACHE names another folder, or is 'off'";
}

}  // namespace octet
