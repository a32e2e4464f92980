// SPDX-License-Identifier: Apache-2.0
// The engine of a version's folder: model.octet, or model.onnx, which is compiled.
#pragma once

#include <filesystem>
#include <string>

#include "octet/engine.h"
#include "settings.h"

namespace octet::triton {

// `named`: default_model_filename of the configuration, or empty. Throws Error(io) where the folder has neither, Error for what is wrong
// with it. What the user should know goes to the server's log.
Engine load_engine(const std::filesystem::path& folder, const std::string& named,
                   const ModelSettings& settings, int threads);

}  // namespace octet::triton
