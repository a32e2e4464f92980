// SPDX-License-Identifier: Apache-2.0
// Reading files that a user names. Only regular files are read: a FIFO, a socket, a device or a folder is Error(io) that says so, and
// nobody waits for its other end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace octet {

// The whole file. Error(invalid_argument) where it has more than `most` bytes.
std::string read_text(const std::filesystem::path& path, uint64_t most);

// Its first bytes, fewer where the file ends before, for who asks what a file is. Nothing where it cannot be read: who reads it for good
// says why.
std::optional<std::string> read_beginning(const std::filesystem::path& path, size_t bytes);

// Fills `to` with a file of just as many bytes; `what` names it in the error about any other: "input 'x'".
void read_exactly(const std::filesystem::path& path, std::span<std::byte> to,
                  const std::string& what);

// The whole file, in pieces.
void read_pieces(const std::filesystem::path& path,
                 const std::function<void(std::span<const std::byte>)>& take);

}  // namespace octet
