// SPDX-License-Identifier: Apache-2.0
// Enumerations: Python's, that turn into numbers where masks are made of them.
#include <type_traits>

#include "module.h"

namespace octet_trt_python {
namespace {

// Bytes of one element; some types have half a byte.
double bytes_of(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
    case DataType::kINT32:
      return 4;
    case DataType::kHALF:
      return 2;
#if NV_TENSORRT_MAJOR >= 10
    case DataType::kBF16:
      return 2;
    case DataType::kINT64:
      return 8;
    case DataType::kINT4:
    case DataType::kFP4:
      return 0.5;
#endif
    default:
      return 1;
  }
}

nb::object itemsize(DataType type) {
  const double bytes = bytes_of(type);
  if (bytes < 1) return nb::float_(bytes);
  return nb::int_(static_cast<int>(bytes));
}

template <class E>
nb::enum_<E> begin(nb::module_& module, const char* name) {
  nb::enum_<E> type(module, name);
  const auto number = [](E value) { return static_cast<int64_t>(value); };
  type.def("__int__", number).def("__index__", number);
  add_order(type);
  type.def("__rlshift__", [](E value, int64_t bit) { return bit << static_cast<int64_t>(value); });
  if constexpr (std::is_same_v<E, DataType>) type.def_prop_ro("itemsize", &itemsize);
  return type;
}

}  // namespace

void add_enums(nb::module_& module) {
#define ENUM(type, name) \
  {                      \
    using E = type;      \
    nb::enum_<E> values = begin<E>(module, #name);
#define K(name) values.value(#name, E::k##name);
#define END }
#include "enums.def"
#undef ENUM
#undef K
#undef END
}

}  // namespace octet_trt_python
