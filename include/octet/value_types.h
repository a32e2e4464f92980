// SPDX-License-Identifier: Apache-2.0
// What the values of a model are, before anything is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet {

// Every named value of the model as it stands, inputs and constants included: a size that depends on the sizes of inputs or on data is
// Shape::kDynamic, and the shape unknown where not even the rank is known. Throws Error as compile() does for what is wrong with a model.
// `weights_folder`: where its weights files are; empty: it may have none.
std::vector<TensorInfo> value_types(std::span<const std::byte> onnx_model,
                                    const std::filesystem::path& weights_folder = {});

// The numbers of each of these values of integers, one after another, as far as constants and sizes that the model fixes tell them:
// nothing for a number that depends on sizes of inputs or on data, and no numbers where not even their count is known. Throws likewise, and
// Error(invalid_argument) for a name that no value of integers has.
std::vector<std::vector<std::optional<int64_t>>> value_integers(
    std::span<const std::byte> onnx_model, std::span<const std::string> names,
    const std::filesystem::path& weights_folder = {});

// The inputs alone, in the order of Engine::inputs(), of a file or of the bytes of one. Throws likewise.
std::vector<TensorInfo> model_inputs(const std::filesystem::path& onnx_file);
std::vector<TensorInfo> model_inputs(std::span<const std::byte> onnx_model,
                                     const std::filesystem::path& weights_folder = {});

}  // namespace octet
