// SPDX-License-Identifier: Apache-2.0
// What a model's makers say of its images.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/float_model.h"
#include "preprocess/found_preprocess.h"

namespace octet {

// Of the file itself, else of one in `folder` (empty: there is none), made to fit the model's only input. What cannot be used is a note.
std::optional<FoundPreprocess> find_preprocess(const FloatModel& model, const Metadata& metadata,
                                               const std::filesystem::path& folder,
                                               std::vector<std::string>& notes);

}  // namespace octet
