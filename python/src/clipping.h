// SPDX-License-Identifier: Apache-2.0
// octet.ClipWatch: whether the data of contexts have drifted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arrays.h"
#include "octet/clipping.h"

namespace octet::python {

// Shared by the contexts that tell it of their runs.
struct PyClipWatch {
  std::string model;
  std::string version;
  std::shared_ptr<ClipWatch> watch;
};

// Copies inputs in the host's memory, where it is time for some. Those of a GPU are not counted.
void offer(ClipWatch& watch, const std::vector<InputArray>& inputs);

}  // namespace octet::python
