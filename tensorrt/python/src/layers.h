// SPDX-License-Identifier: Apache-2.0
// Layers as Python holds them: a pointer, and the network that it lies in. All classes of layers have one layout, because clients assign
// `layer.__class__` to look at a layer as what its type says.
#pragma once

#include "values.h"

namespace octet_trt_python {

struct AnyLayer {
  ILayer* layer = nullptr;
  nb::object network;
};

template <class L>
struct LayerOf : AnyLayer {};

template <class L>
nb::object layer_object(nb::handle network, L* layer) {
  if (layer == nullptr) return nb::none();
  LayerOf<L> object;
  object.layer = layer;
  object.network = nb::borrow(network);
  return nb::cast(std::move(object));
}

// A loop, a condition or attention, which are no layers, and the network that it lies in.
template <class Scope>
struct ScopeOf {
  Scope* scope = nullptr;
  nb::object network;
};

template <class Scope>
nb::object scope_object(nb::handle network, Scope* scope) {
  if (scope == nullptr) return nb::none();
  return nb::cast(ScopeOf<Scope>{scope, nb::borrow(network)});
}

// A class of layers, whose properties are those of the C++ class.
template <class L>
class LayerClass {
 public:
  LayerClass(nb::module_& module, const char* name) : type_(module, name) {}

  template <class Get, class Set>
  LayerClass& property(const char* name, Get get, Set set) {
    type_.def_prop_rw(
        name, [get](const AnyLayer& self) { return (layer_of(self)->*get)(); },
        [set, name](AnyLayer& self, Argument<Set> value) {
          if constexpr (std::is_same_v<Result<Set>, bool>) {
            if (!(layer_of(self)->*set)(value))
              throw nb::value_error((std::string(name) + " cannot have this value").c_str());
          } else {
            (layer_of(self)->*set)(value);
          }
        });
    return *this;
  }

  LayerClass& weights(const char* name, Weights (L::*get)() const noexcept,
                      void (L::*set)(Weights) noexcept) {
    type_.def_prop_rw(
        name,
        [get](const AnyLayer& self) { return array_of((layer_of(self)->*get)(), self.network); },
        [set](AnyLayer& self, nb::handle value) {
          (layer_of(self)->*set)(kept_weights(value, self.network));
        });
    return *this;
  }

  // What cannot be set; `get` is given the network, too.
  template <class Get>
  LayerClass& told(const char* name, Get get) {
    type_.def_prop_ro(name,
                      [get](const AnyLayer& self) { return get(*layer_of(self), self.network); });
    return *this;
  }

  // With functions of the layer instead of its members.
  template <class Get, class Set>
  LayerClass& through(const char* name, Get get, Set set) {
    type_.def_prop_rw(
        name, [get](const AnyLayer& self) { return get(*layer_of(self)); },
        [set](AnyLayer& self, nb::handle value) { set(*layer_of(self), value); });
    return *this;
  }

 private:
  template <class Set>
  struct ArgumentOf;
  template <class R, class C, class A>
  struct ArgumentOf<R (C::*)(A) noexcept> {
    using Type = A;
    using Given = R;
  };
  template <class Set>
  using Argument = typename ArgumentOf<Set>::Type;
  template <class Set>
  using Result = typename ArgumentOf<Set>::Given;

  static L* layer_of(const AnyLayer& self) { return static_cast<L*>(self.layer); }

  nb::class_<LayerOf<L>, AnyLayer> type_;
};

// Both functions of a property that the C++ interface calls set##Member and get##Member.
#define OCTET_PROPERTY(Layer, name, Member) property(name, &Layer::get##Member, &Layer::set##Member)
#define OCTET_WEIGHTS(Layer, name, Member) weights(name, &Layer::get##Member, &Layer::set##Member)

}  // namespace octet_trt_python
