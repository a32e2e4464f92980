// SPDX-License-Identifier: Apache-2.0
// Element types, shapes and dense row-major tensors in host memory: what goes into and comes out of a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace octet {

// From e4m3fn on: the types of fewer bits, of which a tensor holds one element per byte (core/small_types.h). Floats are named
// by their exponent and mantissa bits, and are bit patterns in the low bits; integers are values (two's complement).
enum class Dtype : uint8_t {
  f32,
  f16,
  bf16,
  f64,
  s8,
  u8,
  s16,
  u16,
  s32,
  u32,
  s64,
  u64,
  boolean,
  e4m3fn,
  e4m3fnuz,
  e5m2,
  e5m2fnuz,
  e8m0,
  e2m1,
  s4,
  u4,
  s2,
  u2,
};
inline constexpr int kDtypeCount = static_cast<int>(Dtype::u2) + 1;

size_t dtype_bytes(Dtype dtype);           // in memory
std::string_view dtype_name(Dtype dtype);  // "f32", "s8", "bool"

// Up to kMaxRank dimensions, stored inline. A dimension is >= 0, or kDynamic in a graph that is not yet planned (while it is
// compiled any negative number, one for all that are equal). Of some values not even the rank is known before the run (unknown()).
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr int64_t kDynamic = -1;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);  // throws Error(unsupported) beyond kMaxRank
  static Shape unknown();                         // neither static nor of any rank

  int rank() const { return rank_; }  // -1 when unknown
  bool is_unknown() const { return rank_ < 0; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return dims_[static_cast<size_t>(i)]; }
  std::span<const int64_t> dims() const { return {begin(), end()}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + (rank_ < 0 ? 0 : rank_); }

  void push_back(int64_t dim);
  bool is_static() const;
  // Product of the dimensions; throws Error(invalid_model) when it does not fit 63 bits or a dimension is dynamic.
  int64_t elements() const;

  bool operator==(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  // "1x3x224x224", "?x10", "scalar", "unknown"

struct TensorType {
  Dtype dtype = Dtype::f32;
  Shape shape;
  int64_t bytes() const;  // checked like Shape::elements()
  bool operator==(const TensorType&) const = default;
};

std::string to_string(const TensorType& type);  // "f32[1,3,224,224]", "f32[*]" of unknown rank

// Reference-counted storage, 64-byte aligned; copying a Tensor shares it. Treat a shared tensor as immutable.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Dtype dtype, const Shape& shape);  // zero-filled
  // Views memory that `owner` keeps alive (weights inside a loaded engine file).
  Tensor(const TensorType& type, std::shared_ptr<const std::byte> owner);

  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor scalar(T value);

  explicit operator bool() const { return data_ != nullptr; }
  const TensorType& type() const { return type_; }
  Dtype dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t elements() const { return type_.shape.elements(); }
  size_t bytes() const { return static_cast<size_t>(type_.bytes()); }

  const std::byte* data() const { return data_.get(); }
  std::byte* mutable_data() {
    return const_cast<std::byte*>(data_.get());
  }  // NOLINT: see class comment

  // The elements as T; throws Error(internal) when T is not the tensor's dtype.
  template <class T>
  std::span<const T> as() const;
  template <class T>
  std::span<T> mutable_as();

  Tensor reshaped(const Shape& shape) const;  // shares the data; same number of elements
  Tensor clone() const;

 private:
  TensorType type_;
  std::shared_ptr<const std::byte> data_;
};

// Storage types of the two 16-bit float formats; arithmetic happens in float.
struct f16 {
  uint16_t bits = 0;
  f16() = default;
  explicit f16(float value);  // nearest, ties to even
  explicit operator float() const;
};

struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float value);
  explicit operator float() const;
};

template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = Dtype::f32;
};
template <>
struct DtypeOf<f16> {
  static constexpr Dtype value = Dtype::f16;
};
template <>
struct DtypeOf<bf16> {
  static constexpr Dtype value = Dtype::bf16;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = Dtype::f64;
};
template <>
struct DtypeOf<int8_t> {
  static constexpr Dtype value = Dtype::s8;
};
template <>
struct DtypeOf<uint8_t> {
  static constexpr Dtype value = Dtype::u8;
};
template <>
struct DtypeOf<int16_t> {
  static constexpr Dtype value = Dtype::s16;
};
template <>
struct DtypeOf<uint16_t> {
  static constexpr Dtype value = Dtype::u16;
};
template <>
struct DtypeOf<int32_t> {
  static constexpr Dtype value = Dtype::s32;
};
template <>
struct DtypeOf<uint32_t> {
  static constexpr Dtype value = Dtype::u32;
};
template <>
struct DtypeOf<int64_t> {
  static constexpr Dtype value = Dtype::s64;
};
template <>
struct DtypeOf<uint64_t> {
  static constexpr Dtype value = Dtype::u64;
};
template <>
struct DtypeOf<bool> {
  static constexpr Dtype value = Dtype::boolean;
};

void check_dtype(Dtype expected, Dtype got);  // throws Error(internal)

template <class T>
std::span<const T> Tensor::as() const {
  check_dtype(DtypeOf<T>::value, type_.dtype);
  return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(elements())};
}

template <class T>
std::span<T> Tensor::mutable_as() {
  check_dtype(DtypeOf<T>::value, type_.dtype);
  return {reinterpret_cast<T*>(mutable_data()), static_cast<size_t>(elements())};
}

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor tensor(DtypeOf<T>::value, shape);
  auto dst = tensor.mutable_as<T>();
  for (size_t i = 0; i < dst.size() && i < values.size(); ++i) dst[i] = values[i];
  return tensor;
}

template <class T>
Tensor Tensor::scalar(T value) {
  return of<T>(Shape{}, std::span<const T>(&value, 1));
}

}  // namespace octet
