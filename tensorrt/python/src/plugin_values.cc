// SPDX-License-Identifier: Apache-2.0
// What plugins in Python are told of tensors.
#include "plugin_python.h"

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt_python {
namespace {

using nb::arg;

int64_t whole_number(nb::handle number) {
  const nb::object whole = nb::steal(PyNumber_Index(number.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  return nb::cast<int64_t>(whole);
}

size_t index_in(const DimsExprs& self, int64_t key) {
  const int64_t index = key < 0 ? key + self.nbDims : key;
  if (index < 0 || index >= self.nbDims) throw nb::index_error();
  return static_cast<size_t>(index);
}

DimsExprs open_sizes(int64_t count) {
  if (count < 0 || count > Dims::MAX_DIMS)
    throw nb::value_error("there are from 0 to 8 dimensions");
  DimsExprs sizes{};
  sizes.nbDims = static_cast<int32_t>(count);
  return sizes;
}

DimsExprs listed_sizes(const nb::sequence& list) {
  DimsExprs sizes = open_sizes(static_cast<int64_t>(nb::len(list)));
  for (size_t i = 0; i < static_cast<size_t>(sizes.nbDims); ++i)
    sizes.d[i] = nb::cast<const IDimensionExpr*>(list[i]);
  return sizes;
}

void add_expressions(nb::module_& module) {
  using nb::rv_policy;
  nb::class_<IDimensionExpr>(module, "IDimensionExpr")
      .def("is_constant", &IDimensionExpr::isConstant)
      .def("get_constant_value", &IDimensionExpr::getConstantValue)
      .def("is_size_tensor", &IDimensionExpr::isSizeTensor);
  nb::class_<IExprBuilder>(module, "IExprBuilder")
      .def(
          "constant",
          [](IExprBuilder& self, nb::handle value) { return self.constant(whole_number(value)); },
          arg("value"), rv_policy::reference)
      .def("operation", &IExprBuilder::operation, arg("op"), arg("first"), arg("second"),
           rv_policy::reference)
      .def("declare_size_tensor", &IExprBuilder::declareSizeTensor, arg("output_index"), arg("opt"),
           arg("upper"), rv_policy::reference);
  nb::class_<DimsExprs>(module, "DimsExprs")
      .def("__init__", [](DimsExprs* self) { new (self) DimsExprs(open_sizes(0)); })
      .def("__init__",
           [](DimsExprs* self, int64_t count) { new (self) DimsExprs(open_sizes(count)); })
      .def("__init__", [](DimsExprs* self, const DimsExprs& other) { new (self) DimsExprs(other); })
      .def("__init__", [](DimsExprs* self,
                          const nb::sequence& list) { new (self) DimsExprs(listed_sizes(list)); })
      .def("__len__", [](const DimsExprs& self) { return self.nbDims; })
      .def(
          "__getitem__",
          [](const DimsExprs& self, int64_t key) { return self.d[index_in(self, key)]; },
          rv_policy::reference)
      .def("__setitem__", [](DimsExprs& self, int64_t key, const IDimensionExpr* value) {
        self.d[index_in(self, key)] = value;
      });
}

void add_descriptions(nb::module_& module) {
  nb::class_<PluginTensorDesc>(module, "PluginTensorDesc")
      .def("__init__", [](PluginTensorDesc* self) { new (self) PluginTensorDesc{}; })
      .def_rw("dims", &PluginTensorDesc::dims)
      .def_rw("type", &PluginTensorDesc::type)
      .def_rw("format", &PluginTensorDesc::format)
      .def_rw("scale", &PluginTensorDesc::scale);
  nb::class_<DynamicPluginTensorDesc>(module, "DynamicPluginTensorDesc")
      .def("__init__", [](DynamicPluginTensorDesc* self) { new (self) DynamicPluginTensorDesc{}; })
      .def_rw("desc", &DynamicPluginTensorDesc::desc)
      .def_rw("min", &DynamicPluginTensorDesc::min)
      .def_rw("opt", &DynamicPluginTensorDesc::opt)
      .def_rw("max", &DynamicPluginTensorDesc::max);
}

}  // namespace

void add_plugin_values(nb::module_& module) {
  add_expressions(module);
  add_descriptions(module);
}

}  // namespace octet_trt_python
#endif
