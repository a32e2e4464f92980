// SPDX-License-Identifier: Apache-2.0
// An .npz file of arrays and one list of texts, as NumPy keeps them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "octet/tensor.h"

namespace octet {

// As write_npz(), with an array `name` of texts in Unicode ('<U12') behind the others. Bytes that are no UTF-8 become U+FFFD.
void write_named_arrays(const std::filesystem::path& path,
                        std::span<const std::pair<std::string, Tensor>> arrays,
                        const std::string& name, std::span<const std::string> texts);

}  // namespace octet
