// SPDX-License-Identifier: Apache-2.0
// Element types seen by operators: arithmetic types of the 16-bit floats, visitors over subsets, and names of dtypes.
#pragma once

#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/types.h"
#include "core/visit.h"

namespace octet {

// ONNX's numbers of element types (TensorProto.DataType): the one table of them.
std::optional<Dtype> find_onnx_dtype(s64 code);
Dtype dtype_from_onnx(s64 code);  // throws Error(unsupported) naming the type
s32 dtype_to_onnx(Dtype dtype);
std::string onnx_dtype_name(s64 code);  // "FLOAT8E4M3FN", "STRING", "unknown type 999"
// The Dtype of our own name ("f32") or of ONNX's ("FLOAT"); throws Error(invalid_model).
Dtype dtype_from_name(std::string_view name);

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsHalf<T>;

// What arithmetic on T is done in: float for the 16-bit formats, else T.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, f32, T>;
// Unsigned type of T's width (at least 32 bits), in which integer arithmetic wraps instead of overflowing.
template <class T>
using Wrap = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class F>
void visit_real(Dtype dtype, F&& f) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (kIsReal<T>) {
      f.template operator()<T>();
    } else {
      check_failed("float dtype", __FILE__, __LINE__);
    }
  });
}

template <class F>
void visit_number(Dtype dtype, F&& f) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      f.template operator()<T>();
    } else {
      check_failed("numeric dtype", __FILE__, __LINE__);
    }
  });
}

inline bool is_real(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f32 || dtype == Dtype::f64;
}

// For operators that move elements without reading them: the unsigned integer of the dtype's size.
template <class F>
void visit_size(Dtype dtype, F&& f) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return f.template operator()<u8>();
    case 2:
      return f.template operator()<u16>();
    case 4:
      return f.template operator()<u32>();
    default:
      return f.template operator()<u64>();
  }
}

// Integer arithmetic modulo 2^n; real arithmetic as it is.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrap<T>>(a) + static_cast<Wrap<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
T wrapping_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrap<T>>(a) - static_cast<Wrap<T>>(b));
  } else {
    return a - b;
  }
}

template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrap<T>>(a) * static_cast<Wrap<T>>(b));
  } else {
    return a * b;
  }
}

// The larger and the smaller of two; a NaN in either is the result, as ONNX and numpy have it.
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a > b ? a : b;
}

template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? a : b;
}

// Brings a result of arithmetic in Wide<T> back to T.
template <class T>
T narrow(Wide<T> x) {
  return static_cast<T>(x);
}

}  // namespace octet
