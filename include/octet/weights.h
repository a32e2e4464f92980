// SPDX-License-Identifier: Apache-2.0
// Which files a model consists of.
#pragma once

#include <filesystem>
#include <vector>

namespace octet {

// The files beside an ONNX model that hold weights of it, as it names them; they need not exist. Throws Error for what is no ONNX model.
std::vector<std::filesystem::path> weights_files(const std::filesystem::path& onnx_file);

}  // namespace octet
