// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <nanobind/ndarray.h>

#include <string>

namespace octet_trt_python {
namespace {

int64_t size_of(nb::handle number) {
  const nb::object whole = nb::steal(PyNumber_Index(number.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  return nb::cast<int64_t>(whole);
}

// Sizes as a sequence: what Dims and Permutation share.
template <class Class, class Access>
void add_sequence(Class& type, const Access& access) {
  using T = typename Class::Type;
  const auto list_of = [access](const T& self) {
    nb::list list;
    for (int32_t i = 0; i < access.size(self); ++i) list.append(access.item(self, i));
    return list;
  };
  type.def("__len__", [access](const T& self) { return access.size(self); });
  type.def("__getitem__", [list_of](const T& self, nb::handle key) {
    const nb::object item = nb::steal(PyObject_GetItem(list_of(self).ptr(), key.ptr()));
    if (!item.is_valid()) throw nb::python_error();
    return nb::isinstance<nb::list>(item) ? nb::object(nb::tuple(item)) : item;
  });
  type.def("__setitem__", [access](T& self, int64_t key, nb::handle value) {
    const int64_t index = key < 0 ? key + access.size(self) : key;
    if (index < 0 || index >= access.size(self)) throw nb::index_error();
    access.set(self, static_cast<int32_t>(index), size_of(value));
  });
  type.def("__iter__", [list_of](const T& self) { return nb::iter(list_of(self)); });
  type.def("__repr__",
           [list_of](const T& self) { return nb::str(nb::handle(nb::tuple(list_of(self)))); });
  // Equal to tuples and lists alike.
  type.def(
      "__eq__",
      [list_of](const T& self, nb::handle other) {
        return PySequence_Check(other.ptr()) != 0 &&
               nb::tuple(list_of(self)).equal(nb::tuple(nb::borrow(other)));
      },
      nb::arg().none());
}

struct DimsAccess {
  int32_t size(const Dims& dims) const { return dims.nbDims < 0 ? 0 : dims.nbDims; }
  int64_t item(const Dims& dims, int32_t i) const { return dims.d[i]; }
  void set(Dims& dims, int32_t i, int64_t value) const {
    dims.d[i] = static_cast<OctetSize>(value);
  }
};

struct OrderAccess {
  int32_t size(const Permutation&) const { return Dims::MAX_DIMS; }
  int64_t item(const Permutation& order, int32_t i) const { return order.order[i]; }
  void set(Permutation& order, int32_t i, int64_t value) const {
    order.order[i] = static_cast<int32_t>(value);
  }
};

Permutation order_of(nb::handle sizes) {
  const Dims dims = dims_of(sizes);
  Permutation order{{0, 1, 2, 3, 4, 5, 6, 7}};
  for (int32_t i = 0; i < dims.nbDims; ++i) order.order[i] = static_cast<int32_t>(dims.d[i]);
  return order;
}

// Dims of a fixed number of sizes.
template <class T>
void add_fixed(nb::module_& module, const char* name, int32_t count) {
  nb::class_<T, Dims> type(module, name);
  type.def("__init__", [count](T* self, const nb::args& sizes) {
    Dims dims = T();
    if (sizes.size() > 0)
      dims = dims_of(sizes.size() == 1 ? nb::object(sizes[0]) : nb::object(sizes));
    if (dims.nbDims != count) throw nb::value_error("another number of sizes is expected");
    static_cast<Dims&>(*new (self) T()) = dims;
  });
}

void add_dims(nb::module_& module) {
  nb::class_<Dims> dims(module, "Dims");
  dims.def("__init__", [](Dims* self) { new (self) Dims{0, {}}; });
  dims.def("__init__",
           [](Dims* self, const nb::sequence& sizes) { new (self) Dims(dims_of(sizes)); });
  add_sequence(dims, DimsAccess{});
  dims.attr("MAX_DIMS") = int{Dims::MAX_DIMS};
  nb::implicitly_convertible<nb::sequence, Dims>();
  add_fixed<Dims2>(module, "Dims2", 2);
  nb::class_<DimsHW, Dims2> area(module, "DimsHW");
  area.def(
      "__init__", [](DimsHW* self, OctetSize h, OctetSize w) { new (self) DimsHW(h, w); },
      nb::arg("h"), nb::arg("w"));
  area.def("__init__", [](DimsHW* self, const nb::sequence& sizes) {
    const Dims two = dims_of(sizes);
    if (two.nbDims != 2) throw nb::value_error("height and width are expected");
    new (self) DimsHW(two.d[0], two.d[1]);
  });
  area.def_prop_rw(
      "h", [](const DimsHW& self) { return self.d[0]; },
      [](DimsHW& self, OctetSize h) { self.d[0] = h; });
  area.def_prop_rw(
      "w", [](const DimsHW& self) { return self.d[1]; },
      [](DimsHW& self, OctetSize w) { self.d[1] = w; });
  nb::implicitly_convertible<nb::sequence, DimsHW>();
  add_fixed<Dims3>(module, "Dims3", 3);
  add_fixed<Dims4>(module, "Dims4", 4);
  nb::class_<Permutation> order(module, "Permutation");
  order.def("__init__", [](Permutation* self) {
    new (self) Permutation{{0, 1, 2, 3, 4, 5, 6, 7}};
  });
  order.def("__init__", [](Permutation* self, const nb::sequence& sizes) {
    new (self) Permutation(order_of(sizes));
  });
  add_sequence(order, OrderAccess{});
  nb::implicitly_convertible<nb::sequence, Permutation>();
}

struct Element {
  DataType type;
  const char* numpy;
  size_t bytes;
};

constexpr Element kElements[] = {
    {DataType::kFLOAT, "float32", 4}, {DataType::kHALF, "float16", 2},
    {DataType::kINT8, "int8", 1},     {DataType::kINT32, "int32", 4},
    {DataType::kBOOL, "bool", 1},     {DataType::kUINT8, "uint8", 1},
#if NV_TENSORRT_MAJOR >= 10
    {DataType::kINT64, "int64", 8},   {DataType::kBF16, "bfloat16", 2},
#endif
};

const Element& element_of(DataType type) {
  for (const Element& element : kElements) {
    if (element.type == type) return element;
  }
  throw nb::type_error("NumPy has no type for these weights");
}

size_t bytes_of(const Weights& weights) {
  return element_of(weights.type).bytes * static_cast<size_t>(weights.count);
}

void add_weights(nb::module_& module) {
  nb::class_<PyWeights> type(module, "Weights");
  type.def(
      "__init__",
      [](PyWeights* self, DataType kind) {
        new (self) PyWeights{{kind, nullptr, 0}, {}};
      },
      nb::arg("type") = DataType::kFLOAT);
  type.def(
      "__init__",
      [](PyWeights* self, DataType kind, uintptr_t pointer, int64_t count) {
        new (self) PyWeights{{kind, reinterpret_cast<const void*>(pointer), count}, {}};
      },
      nb::arg("type"), nb::arg("ptr"), nb::arg("count"));
  type.def(
      "__init__",
      [](PyWeights* self, nb::handle array) { new (self) PyWeights(weights_of(array)); },
      nb::arg("a"));
  type.def_prop_ro("dtype", [](const PyWeights& self) { return self.weights.type; });
  type.def_prop_ro("size", [](const PyWeights& self) { return self.weights.count; });
  type.def_prop_ro("nbytes", [](const PyWeights& self) { return bytes_of(self.weights); });
  type.def("numpy", [](nb::handle self) {
    return array_of(nb::cast<const PyWeights&>(self).weights, self);
  });
  type.def("__len__", [](const PyWeights& self) { return self.weights.count; });
}

}  // namespace

Dims dims_of(nb::handle sizes) {
  Dims dims{0, {}};
  for (const nb::handle size : nb::iter(sizes)) {
    if (dims.nbDims == Dims::MAX_DIMS) throw nb::value_error("at most 8 dimensions are possible");
    dims.d[dims.nbDims++] = static_cast<OctetSize>(size_of(size));
  }
  return dims;
}

PyWeights weights_of(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<PyWeights>(object)) return nb::cast<const PyWeights&>(object);
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("ascontiguousarray")(object);
  const std::string name =
      nb::cast<std::string>(nb::str(nb::handle(nb::object(array.attr("dtype")))));
  for (const Element& element : kElements) {
    if (name != element.numpy) continue;
    const auto address = nb::cast<uintptr_t>(array.attr("ctypes").attr("data"));
    const auto count = nb::cast<int64_t>(array.attr("size"));
    return {{element.type, reinterpret_cast<const void*>(address), count}, array};
  }
  throw nb::type_error(("weights of " + name + " are not possible").c_str());
}

Weights kept_weights(nb::handle object, nb::handle reader) {
  const PyWeights weights = weights_of(object);
  if (weights.owner.is_valid()) {
    // An array has no place for what it keeps alive; a capsule of the reader holds it.
    auto* held = new nb::object(weights.owner);
    nb::keep_alive_cb(reader, held,
                      [](void* owner) noexcept { delete static_cast<nb::object*>(owner); });
  }
  return weights.weights;
}

nb::object array_of(const Weights& weights, nb::handle owner) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (weights.count == 0 || weights.values == nullptr)
    return numpy.attr("empty")(0, element_of(weights.type).numpy);
  const size_t bytes[] = {bytes_of(weights)};
  const nb::ndarray<nb::numpy, const uint8_t> raw(weights.values, 1, bytes, owner);
  return nb::cast(raw).attr("view")(element_of(weights.type).numpy);
}

void add_values(nb::module_& module) {
  add_dims(module);
  add_weights(module);
}

}  // namespace octet_trt_python
