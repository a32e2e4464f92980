// SPDX-License-Identifier: Apache-2.0
#include "core/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/check.h"
#include "core/descriptor.h"
#include "core/file.h"

namespace octet {
namespace {

constexpr u64 kPiece = u64{1} << 20;
constexpr size_t kMostSystemText = size_t{64} << 10;

std::span<u8> bytes_of(std::string& text) {
  return {reinterpret_cast<u8*>(text.data()), text.size()};
}

}  // namespace

std::string read_text(const std::filesystem::path& path, uint64_t most) {
  const File file(path);
  if (file.size() > most) {
    fail(Error::Code::invalid_argument, "'{}': {} bytes, expected at most {}", file.name(),
         file.size(), most);
  }
  std::string text(file.size(), '\0');
  file.read_at(0, bytes_of(text));
  return text;
}

std::optional<std::string> read_beginning(const std::filesystem::path& path, size_t bytes) try {
  const File file(path);
  std::string text(std::min<u64>(file.size(), bytes), '\0');
  file.read_at(0, bytes_of(text));
  return text;
} catch (const Error&) {
  return std::nullopt;
}

void read_exactly(const std::filesystem::path& path, std::span<std::byte> to,
                  const std::string& what) {
  const File file(path);
  if (file.size() != to.size()) {
    fail(Error::Code::invalid_argument, "'{}' has {} bytes, {} takes {}", file.name(), file.size(),
         what, to.size());
  }
  file.read_at(0, {reinterpret_cast<u8*>(to.data()), to.size()});
}

void read_pieces(const std::filesystem::path& path,
                 const std::function<void(std::span<const std::byte>)>& take) {
  const File file(path);
  std::vector<u8> piece(std::min(kPiece, file.size()));
  for (u64 at = 0; at < file.size(); at += piece.size()) {
    piece.resize(std::min(kPiece, file.size() - at));
    file.read_at(at, piece);
    take(std::as_bytes(std::span(piece)));
  }
}

std::string read_system_text(const std::filesystem::path& path) {
  const Descriptor file = open_file(path, O_RDONLY);
  std::string text(kMostSystemText, '\0');
  size_t done = 0;
  while (file && done < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

}  // namespace octet
