// SPDX-License-Identifier: Apache-2.0
// Enumerations: Python's, that turn into numbers where masks are made of them.
#include "module.h"

namespace octet_trt_python {
namespace {

template <class E>
nb::enum_<E> begin(nb::module_& module, const char* name) {
  nb::enum_<E> type(module, name);
  const auto number = [](E value) { return static_cast<int64_t>(value); };
  type.def("__int__", number).def("__index__", number);
  type.def("__rlshift__", [](E value, int64_t bit) { return bit << static_cast<int64_t>(value); });
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
