// SPDX-License-Identifier: Apache-2.0
// The parts of the native module octet._octet. What Python sees beside them is python/octet/*.py.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

namespace octet::python {

namespace nb = nanobind;

void add_errors(nb::module_& module);
void add_compile(nb::module_& module);
void add_engine(nb::module_& module);
void add_context(nb::module_& module);
void add_compare(nb::module_& module);
void add_observation(nb::module_& module);
void add_search(nb::module_& module);
void add_clipping(nb::module_& module);

// Names may be any bytes in a file: those that are no UTF-8 become surrogates, as in names of files.
nb::str to_str(std::string_view text);
// The value of a JSON text.
nb::object from_json(std::string_view text);

}  // namespace octet::python
