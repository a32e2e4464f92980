// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "cuda_array.h"
#include "octet/error.h"

namespace octet::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct Row {
  Dtype dtype;
  std::string_view name;  // of NumPy or ml_dtypes
  Code code;
  uint8_t bits;
  bool in_numpy;
};

// Types of fewer than 8 bits lie one in a byte, here as in ml_dtypes; DLPack packs them, so they come as codes.
constexpr std::array kRows = {
    Row{Dtype::f32, "float32", Code::Float, 32, true},
    Row{Dtype::f16, "float16", Code::Float, 16, true},
    Row{Dtype::bf16, "bfloat16", Code::Bfloat, 16, false},
    Row{Dtype::f64, "float64", Code::Float, 64, true},
    Row{Dtype::s8, "int8", Code::Int, 8, true},
    Row{Dtype::u8, "uint8", Code::UInt, 8, true},
    Row{Dtype::s16, "int16", Code::Int, 16, true},
    Row{Dtype::u16, "uint16", Code::UInt, 16, true},
    Row{Dtype::s32, "int32", Code::Int, 32, true},
    Row{Dtype::u32, "uint32", Code::UInt, 32, true},
    Row{Dtype::s64, "int64", Code::Int, 64, true},
    Row{Dtype::u64, "uint64", Code::UInt, 64, true},
    Row{Dtype::boolean, "bool", Code::Bool, 8, true},
    Row{Dtype::e4m3fn, "float8_e4m3fn", Code::Float8_E4M3FN, 8, false},
    Row{Dtype::e4m3fnuz, "float8_e4m3fnuz", Code::Float8_E4M3FNUZ, 8, false},
    Row{Dtype::e5m2, "float8_e5m2", Code::Float8_E5M2, 8, false},
    Row{Dtype::e5m2fnuz, "float8_e5m2fnuz", Code::Float8_E5M2FNUZ, 8, false},
    Row{Dtype::e8m0, "float8_e8m0fnu", Code::Float8_E8M0FNU, 8, false},
    Row{Dtype::e2m1, "float4_e2m1fn", Code::Float4_E2M1FN, 4, false},
    Row{Dtype::s4, "int4", Code::Int, 4, false},
    Row{Dtype::u4, "uint4", Code::UInt, 4, false},
    Row{Dtype::s2, "int2", Code::Int, 2, false},
    Row{Dtype::u2, "uint2", Code::UInt, 2, false},
};

const Row& row_of(Dtype dtype) { return kRows[static_cast<size_t>(dtype)]; }

constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].dtype) != i) return false;
  }
  return kRows.size() == static_cast<size_t>(kDtypeCount);
}
static_assert(rows_are_in_order());

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  throw Error(Error::Code::invalid_argument, fmt::format("{}: {}", what, why));
}

std::string text_of(const nb::object& object) {
  return nb::cast<std::string>(nb::str(nb::handle(object)));
}

std::string dtype_text(nb::handle array) { return text_of(nb::object(array.attr("dtype"))); }

// The type of an array of ml_dtypes, which neither DLPack nor the buffer protocol has; null for others.
const Row* ml_dtype(nb::handle object) {
  if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "view")) return nullptr;
  const std::string name = dtype_text(object);
  for (const Row& row : kRows) {
    if (!row.in_numpy && row.name == name) return &row;
  }
  return nullptr;
}

// Nothing for what is no element of a tensor: complex numbers, vectors, packed types.
std::optional<Dtype> dtype_of(nb::dlpack::dtype type) {
  for (const Row& row : kRows) {
    const bool is_it = static_cast<uint8_t>(row.code) == type.code && row.bits == type.bits;
    if (is_it && row.bits >= 8 && type.lanes == 1) return row.dtype;
  }
  return std::nullopt;
}

std::string device_of(int type, int id, std::string_view what) {
  if (type == nb::device::cpu::value || type == nb::device::cuda_host::value) return "cpu";
  if (type == nb::device::cuda::value || type == nb::device::cuda_managed::value)
    return fmt::format("cuda:{}", id);
  refuse(what, fmt::format("it is in the memory of a device of DLPack's type {}; bring it to the "
                           "host first",
                           type));
}

// Strides that cannot be whole elements, other byte orders and text end here too.
[[noreturn]] void refuse_object(nb::handle object, std::string_view what, bool writes) {
  std::string kind = text_of(nb::inst_name(object));
  if (nb::hasattr(object, "dtype")) kind += " of " + dtype_text(object);
  refuse(what, fmt::format("expected {} (NumPy, DLPack or the buffer protocol), got {}",
                           writes ? "a writable array" : "an array of numbers", kind));
}

// The array itself, or what stands for memory of a GPU: a capsule of DLPack whose maker let the stream wait for its own work.
nb::object on_stream(nb::object array, const DeviceAccess& access) {
  if (!nb::hasattr(array, "__dlpack_device__")) return array;
  const auto device = nb::cast<std::pair<int, int>>(array.attr("__dlpack_device__")());
  const bool cuda =
      device.first == nb::device::cuda::value || device.first == nb::device::cuda_managed::value;
  return cuda ? array.attr("__dlpack__")(nb::arg("stream") = access.stream) : array;
}

template <class Array, class Handle>
Array import_array(nb::handle object, std::string_view what, bool writes,
                   const DeviceAccess& access) {
  const Row* row = ml_dtype(object);
  nb::object codes = nb::borrow(object);
  if (row != nullptr) codes = object.attr("view")(row->bits == 16 ? "uint16" : "uint8");
  Array result;
  if (is_cuda_array(object)) {
    result.array = Handle(cuda_array(object, what, writes, access.device));
  } else if (!nb::try_cast<Handle>(on_stream(codes, access), result.array, false) ||
             !result.array.is_valid()) {
    refuse_object(object, what, writes);
  }
  const Handle& array = result.array;
  const std::optional<Dtype> dtype = row != nullptr ? row->dtype : dtype_of(array.dtype());
  if (!dtype) refuse_object(object, what, writes);
  result.dtype = *dtype;
  result.device = device_of(array.device_type(), array.device_id(), what);
  if (array.ndim() > static_cast<size_t>(Shape::kMaxRank))
    refuse(what,
           fmt::format("{} dimensions; at most {} are possible", array.ndim(), Shape::kMaxRank));
  return result;
}

template <class View, class Handle>
View view_as(const Handle& array, Dtype dtype, std::string_view device) {
  View view;
  view.type = {dtype, Shape(std::span(array.shape_ptr(), array.ndim()))};
  view.data = reinterpret_cast<decltype(view.data)>(array.data());
  Strides strides{};
  for (size_t i = 0; i < array.ndim(); ++i) strides[i] = array.stride(i);
  view.strides = strides;
  view.device = device;
  return view;
}

nb::object with_ml_dtype(nb::object codes, std::string_view name) {
  try {
    const nb::module_ types = nb::module_::import_("ml_dtypes");
    if (!nb::hasattr(types, std::string(name).c_str())) return codes;
    return codes.attr("view")(types.attr(std::string(name).c_str()));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return codes;
  }
}

}  // namespace

TensorView InputArray::view() const { return view_as<TensorView>(array, dtype, device); }

MutableTensorView OutputArray::view() const {
  return view_as<MutableTensorView>(array, dtype, device);
}

InputArray input_array(nb::handle object, std::string_view what, const DeviceAccess& access) {
  return import_array<InputArray, nb::ndarray<nb::ro>>(object, what, false, access);
}

OutputArray output_array(nb::handle object, std::string_view what, const DeviceAccess& access) {
  return import_array<OutputArray, nb::ndarray<>>(object, what, true, access);
}

nb::object sizes_of(const Shape& shape) {
  if (shape.is_unknown()) return nb::none();
  nb::list sizes;
  for (const int64_t size : shape) {
    if (size < 0) {
      sizes.append(nb::none());
    } else {
      sizes.append(size);
    }
  }
  return nb::tuple(sizes);
}

std::string_view numpy_name(Dtype dtype) { return row_of(dtype).name; }

nb::object to_numpy(const Tensor& tensor) {
  const Row& row = row_of(tensor.dtype());
  nb::dlpack::dtype type{static_cast<uint8_t>(row.code), row.bits, 1};
  if (!row.in_numpy)
    type = {static_cast<uint8_t>(Code::UInt), static_cast<uint8_t>(row.bits == 16 ? 16 : 8), 1};
  std::array<size_t, Shape::kMaxRank> sizes{};
  for (int i = 0; i < tensor.shape().rank(); ++i)
    sizes[static_cast<size_t>(i)] = static_cast<size_t>(tensor.shape()[i]);
  auto held = std::make_unique<Tensor>(tensor);
  Tensor* kept = held.get();
  const nb::capsule owner(kept,
                          [](void* tensor_of) noexcept { delete static_cast<Tensor*>(tensor_of); });
  held.release();
  const nb::ndarray<nb::numpy> array(kept->mutable_data(),
                                     static_cast<size_t>(tensor.shape().rank()), sizes.data(),
                                     owner, nullptr, type);
  nb::object numpy = nb::cast(array);
  return row.in_numpy ? numpy : with_ml_dtype(std::move(numpy), row.name);
}

}  // namespace octet::python
