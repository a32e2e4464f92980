// SPDX-License-Identifier: Apache-2.0
// The Python dictionary literal at the head of a .npy file.
#pragma once

#include <string>
#include <string_view>

#include "data/npy.h"

namespace octet {

// "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }". Everything but data_offset is filled in.
NpyHeader parse_npy_dict(std::string_view text, const std::string& name);

}  // namespace octet
