// SPDX-License-Identifier: Apache-2.0
// Names files that are often handed over in place of an ONNX model, and says what to do about each.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace octet {

// "a Git LFS pointer, not the model itself; run 'git lfs pull'", or empty when the bytes look like nothing known.
std::string_view sniff_foreign(std::span<const std::byte> bytes);

}  // namespace octet
