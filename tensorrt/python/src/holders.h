// SPDX-License-Identifier: Apache-2.0
// What Python constructs by name: a pointer of the library's in an object that clients may derive from.
#pragma once

#include <memory>

#include "module.h"

namespace octet_trt_python {

template <class T>
struct Holder {
  explicit Holder(T* made) : held(made) {
    if (held == nullptr) throw std::runtime_error("the library made none; its log says why");
  }
  T& get() const { return *held; }
  std::unique_ptr<T> held;
};

// The first logger that anybody gives is the library's own for as long as the process runs.
inline void keep_first(ILogger& logger) {
  [[maybe_unused]] static const nb::handle first = nb::find(logger).release();
}

// The class `name` of objects that hold a T; calls of T's members go through the holder.
template <class T>
class HolderClass : public nb::class_<Holder<T>> {
 public:
  HolderClass(nb::module_& module, const char* name) : nb::class_<Holder<T>>(module, name) {
    add_with(*this);
  }

  template <class Get>
  HolderClass& read(const char* name, Get get) {
    this->def_prop_ro(name, [get](const Holder<T>& self) { return (self.get().*get)(); });
    return *this;
  }
  template <class Get, class R, class A>
  HolderClass& write(const char* name, Get get, R (T::*set)(A)) {
    this->def_prop_rw(
        name, [get](const Holder<T>& self) { return (self.get().*get)(); },
        [set](Holder<T>& self, A value) { (self.get().*set)(value); });
    return *this;
  }
  // An object that the library keeps a pointer of: so does this, and gives the same back.
  template <class Get, class R, class A>
  HolderClass& listener(const char* name, Get get, R (T::*set)(A*)) {
    this->def_prop_rw(
        name, [get](const Holder<T>& self) { return (self.get().*get)(); },
        [set](Holder<T>& self, A* value) { (self.get().*set)(value); },
        nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
        nb::for_setter(nb::arg("value").none()));
    return *this;
  }
  template <class R, class... A, class... Extra>
  HolderClass& call(const char* name, R (T::*function)(A...), const Extra&... extra) {
    this->def(
        name,
        [function](Holder<T>& self, A... arguments) -> R {
          return (self.get().*function)(arguments...);
        },
        extra...);
    return *this;
  }
  template <class R, class... A, class... Extra>
  HolderClass& call(const char* name, R (T::*function)(A...) const, const Extra&... extra) {
    this->def(
        name,
        [function](const Holder<T>& self, A... arguments) -> R {
          return (self.get().*function)(arguments...);
        },
        extra...);
    return *this;
  }
};

}  // namespace octet_trt_python
