// SPDX-License-Identifier: Apache-2.0
// The Python module tensorrt over the C++ facade, compiled once for each level. Names, keywords and meanings are TensorRT's; what its C++ interface
// answers with null or false is None or False here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>

#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "NvOnnxParser.h"

namespace octet_trt_python {

namespace nb = nanobind;
using namespace nvinfer1;  // NOLINT: the names that are bound

void add_enums(nb::module_& module);
void add_values(nb::module_& module);
void add_callbacks(nb::module_& module);
void add_calibrators(nb::module_& module);
void add_layers(nb::module_& module);
void add_layers_shape(nb::module_& module);
void add_network(nb::module_& module);
void add_config(nb::module_& module);
void add_builder(nb::module_& module);
void add_parser(nb::module_& module);
void add_runtime(nb::module_& module);
void add_engine(nb::module_& module);
void add_context(nb::module_& module);
void add_refitter(nb::module_& module);
void add_plugins(nb::module_& module);

// A call without the interpreter's lock: it may take long, or wait for a thread that calls Python.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

// `with object as name:` leaves the object as it is.
template <class Class>
void add_with(Class& type) {
  type.def("__enter__", [](nb::handle self) { return nb::borrow(self); });
  type.def("__exit__", [](nb::handle, const nb::args&) {});
}

// An address that Python gives as a number, or as anything that int() takes (an allocation of pycuda's).
inline void* pointer_of(nb::handle number) {
  const nb::object whole = nb::steal(PyNumber_Long(number.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  void* pointer = PyLong_AsVoidPtr(whole.ptr());
  if (pointer == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return pointer;
}
inline uintptr_t number_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The same of memory that is read or written. The first page belongs to nobody: such a number is an index or a count. Null is the facade's
// to name.
inline void* address_of(nb::handle number, const char* where) {
  constexpr uintptr_t kPage = 4096;
  void* pointer = pointer_of(number);
  if (pointer != nullptr && number_of(pointer) < kPage) {
    throw nb::value_error(
        (where + (": " + std::to_string(number_of(pointer))) + " is no address of memory").c_str());
  }
  return pointer;
}

// A text that may be None, which is null there.
using OptionalText = std::optional<std::string>;
inline const char* text_of(const OptionalText& text) { return text ? text->c_str() : nullptr; }
inline const char* text_of(const char* text) { return text == nullptr ? "" : text; }

// The object that stands for a pointer, or None; what it points to lives as long as `owner` does.
template <class T>
nb::object inside(T* pointer, nb::handle owner) {
  nb::object object = nb::cast(pointer, nb::rv_policy::reference);
  if (pointer != nullptr) nb::keep_alive_obj(object, owner);
  return object;
}

// Bytes of any object with the buffer protocol.
class Bytes {
 public:
  explicit Bytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  const void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

// Of an enumeration: programs choose messages by `severity <= Logger.WARNING`.
template <class E>
void add_order(nb::enum_<E>& type) {
  type.def(
          "__lt__", [](E a, E b) { return a < b; }, nb::is_operator())
      .def(
          "__le__", [](E a, E b) { return a <= b; }, nb::is_operator())
      .def(
          "__gt__", [](E a, E b) { return a > b; }, nb::is_operator())
      .def(
          "__ge__", [](E a, E b) { return a >= b; }, nb::is_operator());
}

}  // namespace octet_trt_python
