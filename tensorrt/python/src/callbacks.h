// SPDX-License-Identifier: Apache-2.0
// Calls of what clients derive in Python. They come from threads without the interpreter's lock.
#pragma once

#include <nanobind/trampoline.h>

#include <stdexcept>
#include <string>

#include "module.h"

namespace octet_trt_python {

// Messages and names may be any bytes.
inline nb::object str_of(const char* text) {
  if (text == nullptr) return nb::none();
  const std::string bytes(text);
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

// "MyCalibrator.get_batch(): ValueError: no such file", thrown as what the facade reports in its log.
[[noreturn]] inline void raise_as_text(nb::handle self, const char* method,
                                       const nb::python_error& error) {
  const auto name = [](nb::handle type) { return nb::cast<std::string>(type.attr("__name__")); };
  throw std::runtime_error(name(self.type()) + "." + method + "(): " + name(error.type()) + ": " +
                           nb::cast<std::string>(nb::str(error.value())));
}

// Calls `use(self)`, which calls the method, with the lock.
template <class Use>
auto with_python(nb::handle self, const char* method, const Use& use) {
  const nb::gil_scoped_acquire lock;
  try {
    return use(self.attr(method));
  } catch (const nb::python_error& error) {
    raise_as_text(self, method, error);
  } catch (const nb::cast_error&) {
    throw std::runtime_error(nb::cast<std::string>(self.type().attr("__name__")) + "." + method +
                             "() returned a value of another type than is expected");
  }
}

}  // namespace octet_trt_python
