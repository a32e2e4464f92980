// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "callbacks.h"

namespace octet_trt_python {

// An object of Python's behind a class of the library's: called with the interpreter's lock, and given up with it.
class PythonObject {
 public:
  explicit PythonObject(nb::object object) : object_(std::move(object)) {}
  ~PythonObject() {
    if (Py_IsInitialized() == 0) {
      object_.release();
      return;
    }
    const nb::gil_scoped_acquire lock;
    object_.reset();
  }
  PythonObject(const PythonObject&) = delete;
  PythonObject& operator=(const PythonObject&) = delete;

  nb::handle get() const { return object_; }

  // A method that may be missing: what it does otherwise is nothing.
  template <class Use>
  auto optional(const char* method, decltype(std::declval<Use>()(nb::object())) otherwise,
                const Use& use) const {
    {
      const nb::gil_scoped_acquire lock;
      if (!nb::hasattr(object_, method)) return otherwise;
    }
    return call(method, use);
  }
  template <class Use>
  auto call(const char* method, const Use& use) const {
    return with_python(object_, method, [&](auto found) { return use(nb::object(found)); });
  }
  // None is success.
  template <class... A>
  int32_t status(const char* method, const A&... arguments) const {
    return optional(method, int32_t{0}, [&](const nb::object& function) {
      const nb::object result = function(arguments...);
      return result.is_none() ? 0 : nb::cast<int32_t>(result);
    });
  }
  template <class T>
  T attribute(const char* name) const {
    return call(name, [](const nb::object& value) { return nb::cast<T>(value); });
  }
  // Texts are read once: pointers to them stay with the library.
  const char* text(const char* name, std::string& kept) const {
    if (kept.empty()) kept = attribute<std::string>(name);
    return kept.c_str();
  }
  nb::object clone() const {
    return call("clone", [](const nb::object& function) { return nb::object(function()); });
  }

 private:
  nb::object object_;
};

}  // namespace octet_trt_python
