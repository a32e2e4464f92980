// SPDX-License-Identifier: Apache-2.0
// An ONNX model as a program gives it: a path, or the bytes of a file.
#pragma once

#include <nanobind/stl/filesystem.h>

#include <filesystem>
#include <vector>

#include "module.h"
#include "octet/compile.h"

namespace octet::python {

// The bytes of a model, or the file that holds it.
struct Model {
  std::filesystem::path file;
  nb::object bytes;  // null: of the file

  std::span<const std::byte> data() const {
    char* begin = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(bytes.ptr(), &begin, &size) != 0) throw nb::python_error();
    return {reinterpret_cast<const std::byte*>(begin), static_cast<size_t>(size)};
  }
};

Model model_of(nb::handle model);

// Calls with the file or the bytes, without the interpreter's lock.
template <class WithFile, class WithBytes>
auto with_model(nb::handle model, const WithFile& with_file, const WithBytes& with_bytes) {
  const Model source = model_of(model);
  if (!source.bytes.is_valid()) {
    const nb::gil_scoped_release unlocked;
    return with_file(source.file);
  }
  const auto data = source.data();
  const nb::gil_scoped_release unlocked;
  return with_bytes(data);
}

std::vector<TensorInfo> model_inputs_of(nb::handle model, const CompileOptions& options);

}  // namespace octet::python
