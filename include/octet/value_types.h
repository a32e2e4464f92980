// SPDX-License-Identifier: Apache-2.0
// What the values of a model are, before anything is built.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "octet/engine.h"

namespace octet {

// Every named value of the model as it stands, inputs and constants included: a size that depends on the sizes of inputs or on data is
// Shape::kDynamic, and the shape unknown where not even the rank is known. Throws Error as compile() does for what is wrong with a model.
// `weights_folder`: where its weights files are; empty: it may have none.
std::vector<TensorInfo> value_types(std::span<const std::byte> onnx_model,
                                    const std::filesystem::path& weights_folder = {});

// The inputs alone, in the order of Engine::inputs(), of a file or of the bytes of one. Throws likewise.
std::vector<TensorInfo> model_inputs(const std::filesystem::path& onnx_file);
std::vector<TensorInfo> model_inputs(std::span<const std::byte> onnx_model,
                                     const std::filesystem::path& weights_folder = {});

}  // namespace octet
