// SPDX-License-Identifier: Apache-2.0
#include "onnx/tensor_reader.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/check.h"
#include "core/checked.h"
#include "core/small_types.h"
#include "core/visit.h"
#include "onnx/element_types.h"
#include "onnx/text.h"

namespace octet {
namespace {

using octet_onnx::SparseTensorProto;
using octet_onnx::TensorProto;

constexpr s32 kExternal = 1;

s64 decimal(const std::string& key, const std::string& text) {
  s64 value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) {
    fail(Error::Code::invalid_model, "its external data has {} {}, expected a decimal number >= 0",
         key, quote_name(text));
  }
  return value;
}

Shape shape_of(const google::protobuf::RepeatedField<int64_t>& dims) {
  for (s64 dim : dims) {
    if (dim < 0) fail(Error::Code::invalid_model, "it has the negative dimension {}", dim);
  }
  return Shape(std::span<const s64>(dims.data(), static_cast<size_t>(dims.size())));
}

// Elements that a typed field stores as a wider number.
template <class T, class Field>
void copy_field(const Field& field, std::string_view field_name, Tensor& tensor) {
  auto dst = tensor.mutable_as<T>();
  for (size_t i = 0; i < dst.size(); ++i) {
    const auto v = field[static_cast<int>(i)];
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      if (v < 0 || v > 0xffff) {
        fail(Error::Code::invalid_model, "{} holds {}, which is no 16-bit pattern", field_name, v);
      }
      dst[i].bits = static_cast<u16>(v);
    } else if constexpr (std::is_same_v<T, bool>) {
      dst[i] = v != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      dst[i] = v;
    } else {
      if (!std::in_range<T>(v)) {
        fail(Error::Code::invalid_model, "{} holds {}, which does not fit {}", field_name, v,
             dtype_name(DtypeOf<T>::value));
      }
      dst[i] = static_cast<T>(v);
    }
  }
}

// Calls f(field, its name) with the typed field that ONNX prescribes for T.
template <class T, class F>
void with_field(const TensorProto& proto, F&& f) {
  if constexpr (std::is_same_v<T, f32>) {
    f(proto.float_data(), "float_data");
  } else if constexpr (std::is_same_v<T, f64>) {
    f(proto.double_data(), "double_data");
  } else if constexpr (std::is_same_v<T, s64>) {
    f(proto.int64_data(), "int64_data");
  } else if constexpr (std::is_same_v<T, u64> || std::is_same_v<T, u32>) {
    f(proto.uint64_data(), "uint64_data");
  } else {
    f(proto.int32_data(), "int32_data");
  }
}

// Bytes in a file: several small elements share one.
s64 stored_bytes(const TensorType& type) {
  return is_small_dtype(type.dtype) ? packed_bytes(type) : type.bytes();
}

// Elements of int32_data are bytes of packed elements.
void check_small_payload(const TensorProto& proto, const TensorType& type) {
  if (proto.int32_data_size() == packed_bytes(type)) return;
  fail(Error::Code::invalid_model, "int32_data holds {} bytes, shape {} of {} needs {}",
       proto.int32_data_size(), to_string(type.shape), dtype_name(type.dtype), packed_bytes(type));
}

void copy_small_field(const TensorProto& proto, Tensor& tensor) {
  std::vector<u8> packed;
  for (s32 byte : proto.int32_data()) {
    // A byte may come with its sign.
    if (byte < -128 || byte > 255) {
      fail(Error::Code::invalid_model, "int32_data holds {}, which is no byte", byte);
    }
    packed.push_back(static_cast<u8>(byte));
  }
  unpack_small(packed, tensor);
}

void read_small_payload(const TensorProto& proto, Tensor& tensor) {
  const std::string& raw = proto.raw_data();
  if (raw.empty()) return copy_small_field(proto, tensor);
  unpack_small({reinterpret_cast<const u8*>(raw.data()), raw.size()}, tensor);
}

// Which of two payloads counts, readers disagree about.
void check_one_payload(const TensorProto& proto) {
  const std::pair<const char*, bool> payloads[] = {
      {"external_data", is_external(proto)},         {"raw_data", !proto.raw_data().empty()},
      {"float_data", proto.float_data_size() > 0},   {"int32_data", proto.int32_data_size() > 0},
      {"string_data", proto.string_data_size() > 0}, {"int64_data", proto.int64_data_size() > 0},
      {"double_data", proto.double_data_size() > 0}, {"uint64_data", proto.uint64_data_size() > 0},
  };
  const char* first = nullptr;
  for (const auto& [name, present] : payloads) {
    if (!present) continue;
    if (first != nullptr) {
      fail(Error::Code::invalid_model, "it has its elements twice: in {} and in {}", first, name);
    }
    first = name;
  }
}

// Fails unless the payload inside the message has exactly the elements of `type`.
void check_payload(const TensorProto& proto, const TensorType& type) {
  if (!proto.raw_data().empty()) {
    const s64 got = static_cast<s64>(proto.raw_data().size());
    if (got != stored_bytes(type)) {
      fail(Error::Code::invalid_model, "raw_data holds {} bytes, shape {} of {} needs {}", got,
           to_string(type.shape), dtype_name(type.dtype), stored_bytes(type));
    }
    return;
  }
  if (is_small_dtype(type.dtype)) return check_small_payload(proto, type);
  visit_dtype(type.dtype, [&]<class T>() {
    with_field<T>(proto, [&](const auto& field, std::string_view name) {
      if (field.size() != type.shape.elements()) {
        fail(Error::Code::invalid_model, "{} holds {} elements, shape {} needs {}", name,
             field.size(), to_string(type.shape), type.shape.elements());
      }
    });
  });
}

// Any nonzero byte means true; a bool in memory must be 0 or 1.
void normalize_bools(Tensor& tensor) {
  if (tensor.dtype() != Dtype::boolean) return;
  u8* bytes = reinterpret_cast<u8*>(tensor.mutable_data());
  for (size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = bytes[i] != 0;
}

Dtype supported_dtype(const TensorProto& proto) {
  const auto dtype = find_onnx_dtype(proto.data_type());
  if (dtype) return *dtype;
  const bool known = is_element_type(proto.data_type());
  fail(known ? Error::Code::unsupported : Error::Code::invalid_model,
       "it has the element type {} ({}), which Octet does not read",
       onnx_dtype_name(proto.data_type()), proto.data_type());
}

template <class T>
bool has_not_finite(const Tensor& tensor) {
  for (T v : tensor.as<T>()) {
    if (!std::isfinite(static_cast<float>(v))) return true;
  }
  return false;
}

}  // namespace

bool is_external(const TensorProto& proto) { return proto.data_location() == kExternal; }

ExternalSlice external_slice(const TensorProto& proto) try {
  ExternalSlice slice;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      slice.location = entry.value();
    } else if (entry.key() == "offset") {
      slice.offset = decimal(entry.key(), entry.value());
    } else if (entry.key() == "length") {
      slice.length = decimal(entry.key(), entry.value());
    } else if (entry.key() == "checksum") {
      slice.checksum = entry.value();
    } else {
      fail(Error::Code::invalid_model,
           "its external data has the key {}; only location, offset, length and checksum are known",
           quote_name(entry.key()));
    }
  }
  return slice;
} catch (Error& error) {
  error.add_context("reading tensor " + quote_name(proto.name()));
  throw;
}

TensorType TensorReader::checked_type(const TensorProto& proto, Dtype dtype) {
  TensorType type{dtype, shape_of(proto.dims())};
  type.bytes();  // throws when it overflows
  if (proto.has_segment()) fail(Error::Code::unsupported, "it is stored in segments");
  return type;
}

void TensorReader::reserve(s64 bytes) {
  const auto total = checked_add(used_, bytes);
  if (!total || *total > max_bytes_) {
    fail_about("Limits.memory", Error::Code::out_of_memory,
               "the model's tensors need more than the limit of {} bytes", max_bytes_);
  }
  used_ = *total;
}

Tensor TensorReader::read(TensorProto& proto) try {
  const TensorType type = checked_type(proto, supported_dtype(proto));
  check_one_payload(proto);
  Tensor tensor;
  if (is_external(proto)) {
    const ExternalSlice slice = external_slice(proto);
    const s64 stored = stored_bytes(type);
    external_.check(slice, stored);
    reserve(type.bytes());
    tensor = Tensor(type.dtype, type.shape);
    if (is_small_dtype(type.dtype)) {
      std::vector<u8> packed(static_cast<size_t>(stored));
      external_.read(slice, stored, reinterpret_cast<std::byte*>(packed.data()));
      unpack_small(packed, tensor);
    } else {
      external_.read(slice, stored, tensor.mutable_data());
    }
  } else {
    check_payload(proto, type);
    reserve(type.bytes());
    tensor = Tensor(type.dtype, type.shape);
    if (is_small_dtype(type.dtype)) {
      read_small_payload(proto, tensor);
    } else if (!proto.raw_data().empty()) {
      std::memcpy(tensor.mutable_data(), proto.raw_data().data(), tensor.bytes());
    } else {
      visit_dtype(type.dtype, [&]<class T>() {
        with_field<T>(proto, [&](const auto& field, std::string_view name) {
          copy_field<T>(field, name, tensor);
        });
      });
    }
  }
  normalize_bools(tensor);
  warn_not_finite(proto.name(), tensor);
  TensorProto payload;  // dies here: Clear() would keep the buffers
  payload.Swap(&proto);
  proto.set_name(payload.name());
  return tensor;
} catch (Error& error) {
  error.add_context("reading tensor " + quote_name(proto.name()));
  throw;
}

// Indices are [NNZ] into the flattened tensor or [NNZ, rank] coordinates.
Tensor TensorReader::read_sparse(SparseTensorProto& proto) try {
  const Tensor values = read(*proto.mutable_values());
  const Tensor indices = read(*proto.mutable_indices());
  const Shape shape = shape_of(proto.dims());
  const s64 count = values.elements();
  const bool flat = indices.shape().rank() == 1;
  const Shape expected = flat ? Shape{count} : Shape{count, shape.rank()};
  if (values.shape().rank() != 1 || indices.dtype() != Dtype::s64 ||
      !(indices.shape() == expected)) {
    fail(Error::Code::invalid_model, "a sparse tensor has {} values and {} indices",
         to_string(values.type()), to_string(indices.type()));
  }
  const TensorType type{values.dtype(), shape};
  reserve(type.bytes());
  Tensor dense(type.dtype, type.shape);
  const s64 width = flat ? 1 : shape.rank();
  const size_t size = dtype_bytes(type.dtype);
  const auto index = indices.as<s64>();
  s64 before = -1;
  for (s64 n = 0; n < count; ++n) {
    s64 at = 0;
    for (s64 axis = 0; axis < width; ++axis) {
      const s64 extent = flat ? shape.elements() : shape[static_cast<int>(axis)];
      const s64 i = index[static_cast<size_t>(n * width + axis)];
      if (i < 0 || i >= extent) {
        fail(Error::Code::invalid_model, "sparse index {} is outside 0..{}", i, extent - 1);
      }
      at = at * extent + i;
    }
    if (at <= before) {
      fail(Error::Code::invalid_model,
           "sparse indices must ascend and none may come twice; number {} does not", n);
    }
    before = at;
    std::memcpy(dense.mutable_data() + static_cast<size_t>(at) * size,
                values.data() + static_cast<size_t>(n) * size, size);
  }
  return dense;
} catch (Error& error) {
  error.add_context("reading sparse tensor " + quote_name(proto.values().name()));
  throw;
}

void TensorReader::warn_not_finite(const std::string& name, const Tensor& tensor) {
  const bool bad = tensor.dtype() == Dtype::f32    ? has_not_finite<f32>(tensor)
                   : tensor.dtype() == Dtype::f16  ? has_not_finite<f16>(tensor)
                   : tensor.dtype() == Dtype::bf16 ? has_not_finite<bf16>(tensor)
                                                   : false;
  if (!bad) return;
  const std::string what = name.empty() ? "a constant" : "tensor " + quote_name(name);
  warnings_.push_back(what + " holds NaN or infinite values");
}

}  // namespace octet
