// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy and .npz files. Damaged ones are one Error(invalid_argument) naming file and array; pickled objects are never read.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/tensor.h"

namespace octet {

// Big-endian and Fortran-ordered data come out native and row-major.
Tensor read_npy(const std::filesystem::path& path);
// Atomic: under a temporary name, then renamed. bf16, which NumPy lacks, is written as f32.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

// Whether it is one of the two: by its extension, or, where it has none, by its first bytes.
bool is_array_file(const std::filesystem::path& path);

std::vector<std::string> npz_arrays(const std::filesystem::path& path);  // in the archive's order
Tensor read_npz(const std::filesystem::path& path, const std::string& array);
std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);
// Uncompressed and atomic, as numpy.savez. Throws Error(unsupported) past 4 GiB.
void write_npz(const std::filesystem::path& path,
               std::span<const std::pair<std::string, Tensor>> arrays);

}  // namespace octet
