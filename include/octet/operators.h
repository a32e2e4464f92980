// SPDX-License-Identifier: Apache-2.0
// The support table: what Octet does with each operator that an ONNX file may contain. docs/operators.md is made of it.
#pragma once

#include <string>
#include <vector>

namespace octet {

struct OpSupport {
  std::string name;
  std::string domain;       // "" is ai.onnx
  std::string import_form;  // how the importer reads it
  std::string f32_kernel;   // on the CPU
  std::string int8;         // how it becomes integer
};

// Sorted by domain, then name; operators that only Octet's own passes make are left out.
std::vector<OpSupport> supported_operators();

}  // namespace octet
