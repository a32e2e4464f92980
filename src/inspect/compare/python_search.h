// SPDX-License-Identifier: Apache-2.0
// Where a Python with packages may be.
#pragma once

#include <string>
#include <vector>

namespace octet {

// Programs to try, best first: OCTET_PYTHON alone where it is set, else those of VIRTUAL_ENV, ./.venv and PATH that exist.
std::vector<std::string> python_candidates();

}  // namespace octet
