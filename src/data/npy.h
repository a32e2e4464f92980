// SPDX-License-Identifier: Apache-2.0
// What .npy files are made of, below octet/npz.h: header parsing under limits, reading from any byte source.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "octet/npz.h"
#include "octet/tensor.h"

namespace octet {

struct NpyHeader {
  TensorType type;
  bool fortran_order = false;
  bool big_endian = false;
  u64 data_offset = 0;
};

// The next bytes of an array's file, in order; throws when there are not enough. Given to read_npy_stream.
using ByteSource = std::function<void(std::span<u8>)>;

// `total_bytes` is the length of the whole array file; the data must fill it exactly.
NpyHeader read_npy_header(const ByteSource& source, u64 total_bytes, const std::string& name);
// Big-endian and Fortran-ordered data come out native and row-major. Memory is taken only once the header agrees with
// `total_bytes`.
Tensor read_npy_stream(const ByteSource& source, u64 total_bytes, const std::string& name);

NpyHeader read_npy_header(const std::filesystem::path& path);

// The bytes that go before the data of such a tensor.
std::vector<u8> encode_npy_header(const TensorType& type);
// Itself, or a bf16 tensor as f32.
Tensor numpy_compatible(const Tensor& tensor);

// The most that one array may take: limits().memory.
u64 max_array_bytes();

}  // namespace octet
