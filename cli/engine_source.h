// SPDX-License-Identifier: Apache-2.0
// The engine of a command: from a file of Octet's, or made in memory of an ONNX model, as it stands there (FP32, or its own Q/DQ).
#pragma once

#include <filesystem>

#include "octet/engine.h"

namespace octet::cli {

// What begins as an engine file is loaded; a name that ends in .onnx is compiled, with these threads; the rest is an error.
Engine open_engine(const std::filesystem::path& path, int threads);

}  // namespace octet::cli
