// SPDX-License-Identifier: Apache-2.0
// How an engine was made of its model, as a text that can be kept beside it: with other weights in the model the same is made again.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "octet/compile.h"

namespace octet {

// Of a build that is done. Its ranges are those of `cache` (null: of no data) and those by hand.
std::string refit_text(const CompileOptions& options,
                       const std::shared_ptr<const CalibrationCache>& cache);
// Options with the same plan and ranges. Throws Error(invalid_model) for what refit_text() did not write.
CompileOptions refit_options(const std::string& text);

// Where the model in a file is another one than `kept`, the bytes of such a file, and not the same with other weights; empty: nowhere. Throws
// Error for what is no ONNX model.
std::string refit_difference(std::span<const std::byte> kept,
                             const std::filesystem::path& onnx_file);

}  // namespace octet
