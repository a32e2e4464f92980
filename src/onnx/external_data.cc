// SPDX-License-Identifier: Apache-2.0
#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/checked.h"
#include "onnx/sha1.h"
#include "onnx/text.h"

namespace octet {
namespace {

constexpr size_t kMaxLocation = 4096;
constexpr const char* kHint =
    "weights files must be plain files inside the model's folder; links are followed only within a "
    "folder that the caller names";

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts(1);
  for (char c : path) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// What a root could allow.
[[noreturn]] void refuse_link(const std::string& location, std::string_view why) {
  fail_about("CompileOptions.weights_root", Error::Code::invalid_model,
             "external data location {} {}; {}", quote_name(location), why, kHint);
}

[[noreturn]] void refuse(const std::string& location, std::string_view why) {
  fail(Error::Code::invalid_model, "external data location {} {}; {}", quote_name(location), why,
       kHint);
}

// The rules that need no look at the disk.
void check_location(const std::string& location) {
  if (location.empty()) refuse(location, "is empty");
  if (location.size() > kMaxLocation) refuse(location, "is too long");
  if (location.front() == '/') refuse(location, "is an absolute path");
  for (char c : location) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f) {
      refuse(location, "holds a control character or a backslash");
    }
  }
  for (const std::string& part : split(location)) {
    if (part == "..") refuse(location, "leaves the model's folder by '..'");
    if (part == "#..") refuse(location, "holds '#..'");
  }
}

}  // namespace

void ExternalData::open_all(const std::vector<std::string>& locations) {
  std::string missing;
  for (const std::string& location : locations) {
    if (files_.contains(location) || open(location)) continue;
    missing += (missing.empty() ? "" : ", ") + quote_name(location);
    files_[location];
  }
  if (!missing.empty()) {
    fail(Error::Code::io, "weights file {} is missing in {}; copy the weights next to the model",
         missing, folder_.string());
  }
}

bool ExternalData::open(const std::string& location) {
  check_location(location);
  if (folder_.empty()) {
    fail(Error::Code::invalid_argument,
         "the model keeps weights in {} but was given as bytes; name the folder of its weights "
         "files",
         quote_name(location));
  }
  std::error_code error;
  File file;
  if (root_.empty()) {
    file = open_beneath(folder_, location, location);
  } else {
    const auto real = std::filesystem::canonical(folder_ / location, error);
    if (error == std::errc::no_such_file_or_directory) return false;
    const auto root = std::filesystem::canonical(root_, error);
    if (error)
      fail(Error::Code::io, "the folder of weights files {}: {}", root_.string(), error.message());
    const std::string relative = real.lexically_relative(root).string();
    if (relative.empty() || relative.starts_with("..")) {
      refuse_link(location, "resolves to a file outside " + root.string());
    }
    file = open_beneath(root, relative, location);
  }
  if (!file.descriptor) return false;
  files_[location] = std::move(file);
  return true;
}

// Opens one component after the other without following links, so that nothing can be swapped in between.
ExternalData::File ExternalData::open_beneath(const std::filesystem::path& folder,
                                              const std::string& relative,
                                              const std::string& location) const {
  Descriptor at = open_file(folder, O_DIRECTORY | O_PATH);
  if (!at) fail(Error::Code::io, "{}: {}", folder.string(), std::strerror(errno));
  const std::vector<std::string> parts = split(relative);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() || parts[i] == ".") continue;
    struct stat seen = {};
    if (::fstatat(at.get(), parts[i].c_str(), &seen, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};
      fail(Error::Code::io, "external data {}: {}", quote_name(location), std::strerror(errno));
    }
    if (S_ISLNK(seen.st_mode)) refuse_link(location, "goes through a symbolic link");
    const bool last = i + 1 == parts.size();
    if (last && !S_ISREG(seen.st_mode)) refuse(location, "is not a regular file");
    if (last && root_.empty() && seen.st_nlink != 1) refuse_link(location, "is a hard link");
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_DIRECTORY | O_PATH;
    Descriptor next{::openat(at.get(), parts[i].c_str(), flags | O_NOFOLLOW | O_CLOEXEC)};
    struct stat opened = {};
    if (!next || ::fstat(next.get(), &opened) != 0) {
      fail(Error::Code::io, "external data {}: {}", quote_name(location), std::strerror(errno));
    }
    if (opened.st_ino != seen.st_ino || opened.st_dev != seen.st_dev) {
      refuse(location, "changed while it was opened");
    }
    std::swap(at, next);
    if (last) return {std::move(at), static_cast<s64>(opened.st_size)};
  }
  refuse(location, "is a folder");
}

void ExternalData::check(const ExternalSlice& slice, s64 bytes) {
  if (!files_.contains(slice.location)) open_all({slice.location});
  const File& file = files_.at(slice.location);
  if (slice.length >= 0 && slice.length != bytes) {
    fail(Error::Code::invalid_model, "its external data holds {} bytes, its shape needs {}",
         slice.length, bytes);
  }
  const auto end = checked_add(slice.offset, bytes);
  if (slice.offset < 0 || !end || *end > file.size) {
    fail(Error::Code::invalid_model,
         "its external data is {} bytes at offset {} of {}, which has {} bytes", bytes,
         slice.offset, quote_name(slice.location), file.size);
  }
  if (!slice.checksum.empty()) check_sum(slice);
}

void ExternalData::check_sum(const ExternalSlice& slice) {
  File& file = files_.at(slice.location);
  if (file.sha1.empty()) file.sha1 = sha1_of(file.descriptor.get());
  std::string given = slice.checksum;
  for (char& c : given) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (given == file.sha1) return;
  fail(Error::Code::invalid_model,
       "the SHA-1 of {} is {}, but the model says {}; copy model and weights again",
       quote_name(slice.location), file.sha1, quote_name(slice.checksum));
}

void ExternalData::read(const ExternalSlice& slice, s64 bytes, std::byte* dst) {
  check(slice, bytes);
  const File& file = files_.at(slice.location);
  for (s64 done = 0; done < bytes;) {
    const ssize_t got = ::pread(file.descriptor.get(), dst + done,
                                static_cast<size_t>(bytes - done), slice.offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail(Error::Code::io, "reading {}: {}", quote_name(slice.location),
           got < 0 ? std::strerror(errno) : "the file became shorter");
    }
    done += got;
  }
  hash_.add({dst, static_cast<size_t>(bytes)});
}

}  // namespace octet
