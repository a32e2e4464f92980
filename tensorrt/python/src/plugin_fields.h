// SPDX-License-Identifier: Apache-2.0
// What plugins are made with, as Python holds it.
#pragma once

#include <string>
#include <vector>

#include "module.h"

namespace octet_trt_python {

// A field that keeps its data alive.
struct Field {
  std::string name;
  nb::object data;  // an array of NumPy
  PluginFieldType type;
};

struct Fields {
  std::vector<Field> list;
};

// The library's view of fields: valid as long as they are, and stay where they are.
struct Collection {
  explicit Collection(const std::vector<Field>& of);
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  std::vector<PluginField> fields;
  PluginFieldCollection all{};
};

// The names and types of fields, without data.
Fields fields_of(const PluginFieldCollection* names);
// With copies of their data.
Fields filled_fields_of(const PluginFieldCollection* given);

void add_plugin_fields(nb::module_& module);

}  // namespace octet_trt_python
