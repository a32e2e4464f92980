// SPDX-License-Identifier: Apache-2.0
#include "plugin_fields.h"

#include <algorithm>

namespace octet_trt_python {
namespace {

using nb::arg;

struct Kind {
  PluginFieldType type;
  const char* numpy;
};
constexpr Kind kKinds[] = {
    {PluginFieldType::kFLOAT16, "float16"}, {PluginFieldType::kFLOAT32, "float32"},
    {PluginFieldType::kFLOAT64, "float64"}, {PluginFieldType::kINT8, "int8"},
    {PluginFieldType::kINT16, "int16"},     {PluginFieldType::kINT32, "int32"},
#if NV_TENSORRT_MAJOR >= 10
    {PluginFieldType::kINT64, "int64"},
#endif
};

Field make_field(const std::string& name, nb::handle data, PluginFieldType type) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (nb::isinstance<nb::bytes>(data))
    return {name, numpy.attr("frombuffer")(data, arg("dtype") = "int8"), type};
  nb::object array = data.is_none() ? nb::object(numpy.attr("empty")(0))
                                    : nb::object(numpy.attr("ascontiguousarray")(data));
  if (type == PluginFieldType::kUNKNOWN) {
    const std::string dtype =
        nb::cast<std::string>(nb::str(nb::handle(nb::object(array.attr("dtype")))));
    for (const Kind& kind : kKinds) {
      if (dtype == kind.numpy) type = kind.type;
    }
  }
  return {name, std::move(array), type};
}

PluginField field_of(const Field& field) {
  const auto address = nb::cast<uintptr_t>(field.data.attr("ctypes").attr("data"));
  return {field.name.c_str(), reinterpret_cast<const void*>(address), field.type,
          nb::cast<int32_t>(field.data.attr("size"))};
}

// Elements of what NumPy has no type for are seen as bytes.
const char* numpy_type(PluginFieldType type) {
  const auto* kind = std::ranges::find(kKinds, type, &Kind::type);
  return kind == std::end(kKinds) ? "int8" : kind->numpy;
}

}  // namespace

Collection::Collection(const std::vector<Field>& of) {
  for (const Field& field : of) fields.push_back(field_of(field));
  all = {static_cast<int32_t>(fields.size()), fields.data()};
}

Fields fields_of(const PluginFieldCollection* names) {
  Fields fields;
  for (int32_t i = 0; names != nullptr && i < names->nbFields; ++i)
    fields.list.push_back(
        make_field(text_of(names->fields[i].name), nb::none(), names->fields[i].type));
  return fields;
}

Fields filled_fields_of(const PluginFieldCollection* given) {
  Fields fields;
  const nb::module_ numpy = nb::module_::import_("numpy");
  for (int32_t i = 0; given != nullptr && i < given->nbFields; ++i) {
    const PluginField& field = given->fields[i];
    const nb::object type = numpy.attr("dtype")(numpy_type(field.type));
    const size_t count = field.data == nullptr ? 0 : static_cast<size_t>(std::max(0, field.length));
    const nb::bytes bytes(field.data, count * nb::cast<size_t>(type.attr("itemsize")));
    fields.list.push_back(
        {text_of(field.name), numpy.attr("frombuffer")(bytes, arg("dtype") = type), field.type});
  }
  return fields;
}

void add_plugin_fields(nb::module_& module) {
  nb::class_<Field>(module, "PluginField")
      .def(
          "__init__",
          [](Field* self, const std::string& name, nb::handle data, PluginFieldType type) {
            new (self) Field(make_field(name, data, type));
          },
          arg("name") = "", arg("data").none() = nb::none(),
          arg("type") = PluginFieldType::kUNKNOWN)
      .def_rw("name", &Field::name)
      .def_ro("data", &Field::data)
      .def_ro("type", &Field::type)
      .def_prop_ro("size", [](const Field& self) { return nb::object(self.data.attr("size")); });
  nb::class_<Fields>(module, "PluginFieldCollection")
      .def(nb::init<>())
      .def(
          "__init__", [](Fields* self, const std::vector<Field>& list) { new (self) Fields{list}; },
          arg("fields"))
      .def(
          "append", [](Fields& self, const Field& field) { self.list.push_back(field); },
          arg("field"))
      .def("__len__", [](const Fields& self) { return self.list.size(); })
      .def("__getitem__", [](const Fields& self, size_t i) {
        if (i >= self.list.size()) throw nb::index_error();
        return self.list[i];
      });
  nb::implicitly_convertible<std::vector<Field>, Fields>();
  module.attr("PluginFieldCollection_") = module.attr("PluginFieldCollection");  // the struct
}

}  // namespace octet_trt_python
