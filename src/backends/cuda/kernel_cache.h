// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk, so that an engine starts at once the second time. They are machine code: they lie in the user's cache
// folder (OCTET_KERNEL_CACHE, else below XDG_CACHE_HOME or ~/.cache), never in an engine, and are taken only when the checksum in
// them is right, and folder and file are such as nobody but this user and root can write.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/types.h"

namespace octet::cuda {

// What the machine code depends on.
struct KernelImage {
  std::string text;     // of the source
  std::string options;  // of the compiler, with the target
  int compiler_major = 0, compiler_minor = 0;
};

// Of what runs have compiled: the oldest files go first. What was made for others stays (octet warm), and does not count.
inline constexpr u64 kKernelCacheBytes = u64{256} << 20;

// Empty where there is none, or what lies there is damaged. Never throws.
std::vector<char> read_kernel(const KernelImage& image) noexcept;
std::vector<char> read_kernel(const std::filesystem::path& folder,
                              const KernelImage& image) noexcept;
// A cache that cannot be written is none: the next run compiles again, and octet/warm.h tells why.
void keep_kernel(const KernelImage& image, const std::vector<char>& cubin) noexcept;

// For a cache that is made for others, who may read it and no more. What is missing of the folder is made. Throws Error(io) where it cannot
// be written, Error(invalid_argument) where others could put code into it.
void open_shared_cache(const std::filesystem::path& folder);
// Whether it is there, and if so others may read it from now on: a run may have kept it for itself. Throws Error(io).
bool share_kernel(const std::filesystem::path& folder, const KernelImage& image);
// Into such a folder. Throws Error(io).
void write_shared_kernel(const std::filesystem::path& folder, const KernelImage& image,
                         const std::vector<char>& cubin);

// Why a folder is no cache: it cannot be opened, or others could put code into it. Empty: it is one.
std::string why_not_trusted(const std::filesystem::path& folder);
// What should be told of the folder that is in force: that nothing is kept in it, and why.
std::string kernel_cache_doubt();
// Empty: nothing is kept (OCTET_KERNEL_CACHE is "off", or there is no home).
std::filesystem::path kernel_cache_folder();

}  // namespace octet::cuda
