// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/check.h"
#include "core/checked.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/small_types.h"
#include "data/npy_header.h"
#include "octet/limits.h"

namespace octet {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 64 << 10;
constexpr size_t kAlignment = 64;

// Bytes of the data that the header announces; errors rather than wraps.
u64 declared_bytes(const TensorType& type, const std::string& name) {
  s64 bytes = static_cast<s64>(dtype_bytes(type.dtype));
  const bool empty = std::find(type.shape.begin(), type.shape.end(), 0) != type.shape.end();
  for (s64 dim : type.shape.dims()) {
    const auto product = checked_mul(bytes, empty ? std::min<s64>(dim, 1) : dim);
    if (!product) {
      fail(Error::Code::invalid_argument, "'{}': shape {} overflows", name, to_string(type.shape));
    }
    bytes = *product;
  }
  return static_cast<u64>(bytes);
}

u64 header_length(const ByteSource& source, u64 total_bytes, u64* offset, const std::string& name) {
  std::array<u8, 12> head{};
  if (total_bytes < 10) {
    fail(Error::Code::invalid_argument, "'{}': {} bytes are too few for an npy file", name,
         total_bytes);
  }
  source(std::span(head).first(8));
  if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) {
    fail(Error::Code::invalid_argument, "'{}' is not an npy file (bad magic)", name);
  }
  const int version = head[6];
  if (version < 1 || version > 3) {
    fail(Error::Code::unsupported, "'{}': npy format version {}.{}, supported are 1.0 to 3.0", name,
         version, head[7]);
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  *offset = 8 + length_bytes;
  if (total_bytes < *offset) {
    fail(Error::Code::invalid_argument, "'{}': ends within the npy header", name);
  }
  source(std::span(head).subspan(8, length_bytes));
  u64 length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | head[8 + i];
  return length;
}

void swap_bytes(u8* data, size_t count, size_t element) {
  for (size_t i = 0; i < count; ++i) std::reverse(data + i * element, data + (i + 1) * element);
}

template <class T>
void to_row_major(const Tensor& src, Tensor* dst) {
  const Shape& shape = dst->shape();
  const T* s = reinterpret_cast<const T*>(src.data());
  T* d = reinterpret_cast<T*>(dst->mutable_data());
  const size_t rank = static_cast<size_t>(shape.rank());
  std::array<size_t, Shape::kMaxRank> stride{}, index{};
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    stride[i] = count;
    count *= static_cast<size_t>(shape[static_cast<int>(i)]);
  }
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    d[i] = s[at];
    // Odometer, last axis fastest: `at` follows in the source's column-major order.
    for (size_t axis = rank; axis-- > 0;) {
      at += stride[axis];
      if (++index[axis] < static_cast<size_t>(shape[static_cast<int>(axis)])) break;
      at -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

Tensor row_major(const Tensor& fortran) {
  Tensor result(fortran.dtype(), fortran.shape());
  switch (dtype_bytes(fortran.dtype())) {
    case 1:
      to_row_major<u8>(fortran, &result);
      break;
    case 2:
      to_row_major<u16>(fortran, &result);
      break;
    case 4:
      to_row_major<u32>(fortran, &result);
      break;
    default:
      to_row_major<u64>(fortran, &result);
      break;
  }
  return result;
}

std::string_view descr(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return "<f2";
    case Dtype::f64:
      return "<f8";
    case Dtype::s8:
      return "|i1";
    case Dtype::u8:
      return "|u1";
    case Dtype::s16:
      return "<i2";
    case Dtype::u16:
      return "<u2";
    case Dtype::s32:
      return "<i4";
    case Dtype::u32:
      return "<u4";
    case Dtype::s64:
      return "<i8";
    case Dtype::u64:
      return "<u8";
    case Dtype::boolean:
      return "|b1";
    default:  // f32, and what is written as f32: numpy_compatible()
      break;
  }
  return "<f4";
}

Tensor small_as_f32(const Tensor& tensor) {
  Tensor wide(Dtype::f32, tensor.shape());
  const std::span<f32> dst = wide.mutable_as<f32>();
  const u8* src = reinterpret_cast<const u8*>(tensor.data());
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = small_to_f32(tensor.dtype(), src[i]);
  return wide;
}

}  // namespace

u64 max_array_bytes() { return static_cast<u64>(limits().memory); }

NpyHeader read_npy_header(const ByteSource& source, u64 total_bytes, const std::string& name) {
  u64 offset = 0;
  const u64 length = header_length(source, total_bytes, &offset, name);
  if (length > kMaxHeaderBytes || length > total_bytes - offset) {
    fail(Error::Code::invalid_argument,
         "'{}': npy header of {} bytes; the file has {} bytes, the limit is {}", name, length,
         total_bytes, kMaxHeaderBytes);
  }
  std::string text(length, '\0');
  source({reinterpret_cast<u8*>(text.data()), text.size()});
  NpyHeader header = parse_npy_dict(text, name);
  header.data_offset = offset + length;
  const u64 bytes = declared_bytes(header.type, name);
  const u64 available = total_bytes - header.data_offset;
  if (bytes != available) {
    fail(Error::Code::invalid_argument, "'{}': {} needs {} bytes of data, the file holds {}", name,
         to_string(header.type), bytes, available);
  }
  if (bytes > max_array_bytes()) {
    fail(Error::Code::out_of_memory, "'{}': {} needs {} bytes, the limit is {}", name,
         to_string(header.type), bytes, max_array_bytes());
  }
  return header;
}

Tensor read_npy_stream(const ByteSource& source, u64 total_bytes, const std::string& name) {
  const NpyHeader header = read_npy_header(source, total_bytes, name);
  Tensor tensor(header.type.dtype, header.type.shape);
  u8* data = reinterpret_cast<u8*>(tensor.mutable_data());
  const size_t bytes = tensor.bytes();
  source({data, bytes});
  const size_t element = dtype_bytes(header.type.dtype);
  if (header.big_endian && element > 1) swap_bytes(data, bytes / element, element);
  if (header.type.dtype == Dtype::boolean) {
    // A bool holding another bit pattern is undefined behaviour to read.
    std::transform(data, data + bytes, data, [](u8 b) { return static_cast<u8>(b != 0); });
  }
  return header.fortran_order && header.type.shape.rank() > 1 ? row_major(tensor) : tensor;
}

NpyHeader read_npy_header(const std::filesystem::path& path) {
  const File file(path);
  u64 at = 0;
  const ByteSource source = [&](std::span<u8> dst) {
    file.read_at(at, dst);
    at += dst.size();
  };
  return read_npy_header(source, file.size(), file.name());
}

Tensor read_npy(const std::filesystem::path& path) {
  return without_bad_alloc([&] {
    const File file(path);
    u64 at = 0;
    const ByteSource source = [&](std::span<u8> dst) {
      file.read_at(at, dst);
      at += dst.size();
    };
    return read_npy_stream(source, file.size(), file.name());
  });
}

std::vector<u8> encode_npy_header(const TensorType& type) {
  std::string shape;
  for (s64 dim : type.shape.dims()) shape += fmt::format("{}, ", dim);
  if (type.shape.rank() > 1) shape.resize(shape.size() - 2);
  if (type.shape.rank() == 1) shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 descr(type.dtype), shape);
  // The data begins at a multiple of 64; the dictionary ends with a newline.
  constexpr size_t kPrefix = 10;
  const size_t total = (kPrefix + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(total - kPrefix - 1, ' ');
  text += '\n';
  std::string bytes(kMagic);
  bytes += '\1';  // version 1.0
  bytes += '\0';
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  bytes += text;
  return {bytes.begin(), bytes.end()};
}

Tensor numpy_compatible(const Tensor& tensor) {
  if (is_small_dtype(tensor.dtype())) return small_as_f32(tensor);
  if (tensor.dtype() != Dtype::bf16) return tensor;
  Tensor wide(Dtype::f32, tensor.shape());
  const std::span<f32> dst = wide.mutable_as<f32>();
  const std::span<const bf16> src = tensor.as<bf16>();
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = static_cast<f32>(src[i]);
  return wide;
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  without_bad_alloc([&] {
    const Tensor t = numpy_compatible(tensor);
    AtomicFile file(path);
    file.write(encode_npy_header(t.type()));
    file.write({reinterpret_cast<const u8*>(t.data()), t.bytes()});
    file.commit();
  });
}

}  // namespace octet
