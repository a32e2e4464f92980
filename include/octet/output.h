// SPDX-License-Identifier: Apache-2.0
// Where a file is written. All of Octet's writers write a temporary file beside this place and rename it, so that a failure leaves what
// was there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace octet {

// The file that a writer given `path` replaces or makes: `path` itself, or, where it is a symbolic link, the file that the link names
// (the link stays). Throws Error(io) where something stands that is no regular file (a folder, a device, a FIFO), or the folder is
// missing or cannot be written.
std::filesystem::path output_target(const std::filesystem::path& path);
// Writes a text so.
void write_text(std::string_view text, const std::filesystem::path& path);
void write_bytes(std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace octet
