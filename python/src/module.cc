// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include "octet/machine.h"

namespace octet::python {

nb::str to_str(std::string_view text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

nb::object from_json(std::string_view text) {
  return nb::module_::import_("json").attr("loads")(to_str(text));
}

}  // namespace octet::python

NB_MODULE(_octet, module) {
  module.doc() = "What of octet is native.";
  module.attr("version") = OCTET_VERSION;
  octet::python::add_errors(module);
  octet::python::add_engine(module);
  octet::python::add_clipping(module);
  octet::python::add_context(module);
  octet::python::add_observation(module);
  octet::python::add_compile(module);
  octet::python::add_compare(module);
  octet::python::add_search(module);
  module.def("usable_processors", &octet::usable_processors,
             "On how many processors this process may run, by its affinity and control groups.");
  module.def(
      "cpu_isa", &octet::cpu_isa,
      "The instruction-set level whose kernels contexts take: 'none', 'avx2', 'avx_vnni', "
      "'vnni' or 'amx', on 64-bit Arm 'neon', 'dotprod' or 'i8mm', capped by OCTET_CPU_ISA in "
      "the environment.");
}
