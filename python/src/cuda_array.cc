// SPDX-License-Identifier: Apache-2.0
#include "cuda_array.h"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "octet/error.h"

namespace octet::python {
namespace {

using TypeCode = nb::dlpack::dtype_code;
constexpr const char* kInterface = "__cuda_array_interface__";

[[noreturn]] void refuse_cuda_array(std::string_view what, std::string_view why) {
  throw Error(Error::Code::invalid_argument, fmt::format("{}: {}", what, why));
}

// "<f4": byte order, kind, bytes.
nb::dlpack::dtype element_type(const std::string& typestr, std::string_view what) {
  static constexpr std::array kKinds = {
      std::pair{'f', TypeCode::Float}, std::pair{'i', TypeCode::Int},
      std::pair{'u', TypeCode::UInt}, std::pair{'b', TypeCode::Bool}};
  int bytes = 0;
  const char* end = typestr.data() + typestr.size();
  const bool is_read = typestr.size() >= 3 && typestr[0] != '>' &&
                       std::from_chars(typestr.data() + 2, end, bytes).ptr == end && bytes >= 1 &&
                       bytes <= 8;
  for (const auto& [kind, code] : kKinds) {
    if (is_read && typestr[1] == kind)
      return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * bytes), 1};
  }
  refuse_cuda_array(what, fmt::format("elements of the type '{}' are none of a tensor", typestr));
}

// In elements; empty for rows.
std::vector<int64_t> element_strides(nb::handle given, int bytes, size_t rank,
                                     std::string_view what) {
  std::vector<int64_t> strides;
  if (given.is_none()) return strides;
  for (const int64_t stride : nb::cast<std::vector<int64_t>>(given)) {
    if (stride % bytes != 0) refuse_cuda_array(what, "its strides are not whole elements");
    strides.push_back(stride / bytes);
  }
  if (strides.size() != rank) refuse_cuda_array(what, "it has not one stride for each dimension");
  return strides;
}

}  // namespace

bool is_cuda_array(nb::handle object) {
  return !nb::hasattr(object, "__dlpack__") && nb::hasattr(object, kInterface);
}

nb::ndarray<> cuda_array(nb::handle object, std::string_view what, bool writes, int device) {
  const auto about = nb::cast<nb::dict>(object.attr(kInterface));
  const auto shape = nb::cast<std::vector<size_t>>(about["shape"]);
  const nb::dlpack::dtype type = element_type(nb::cast<std::string>(about["typestr"]), what);
  const auto [address, read_only] = nb::cast<std::pair<uintptr_t, bool>>(about["data"]);
  if (writes && read_only) refuse_cuda_array(what, "it must not be written");
  if (nb::object mask = about.attr("get")("mask"); !mask.is_none())
    refuse_cuda_array(what, "it has a mask, and tensors have none");
  const std::vector<int64_t> strides =
      element_strides(about.attr("get")("strides"), type.bits / 8, shape.size(), what);
  return {reinterpret_cast<void*>(address),
          shape.size(),
          shape.data(),
          object,
          strides.empty() ? nullptr : strides.data(),
          type,
          nb::device::cuda::value,
          device};
}

}  // namespace octet::python
