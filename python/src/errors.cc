// SPDX-License-Identifier: Apache-2.0
#include "module.h"
#include "octet/error.h"
#include "octet/json.h"

namespace octet::python {
namespace {

void raise(nb::handle type, const Error& error) {
  const nb::object raised = type(to_str(error.what()));
  nb::list context;
  for (const std::string& line : error.context()) context.append(to_str(line));
  raised.attr("code") = to_str(code_name(error.code()));
  raised.attr("message") = to_str(error.message());
  raised.attr("context") = context;
  raised.attr("field") = to_str(error.field());
  PyErr_SetObject(type.ptr(), raised.ptr());
}

void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(static_cast<PyObject*>(type), error);
  }
}

}  // namespace

void add_errors(nb::module_& module) {
  const nb::object type = nb::module_::import_("octet._error").attr("Error");
  module.attr("Error") = type;
  nb::register_exception_translator(translate, type.ptr());  // the module keeps the type
}

}  // namespace octet::python
