// SPDX-License-Identifier: Apache-2.0
// What the makers of a model say of its images, where exporters leave it: in the model's metadata, or in a file beside it. From anywhere, and
// not trusted: what is wrong or not known is a note, and nothing is taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/preprocess.h"

namespace octet {

struct FoundPreprocess {
  Preprocess preprocess;
  std::string from;                // "the model's metadata (Ultralytics, detect)"
  std::vector<std::string> notes;  // what is done otherwise
};

using Metadata = std::vector<std::pair<std::string, std::string>>;  // of an ONNX model

// Keys that Ultralytics writes; nothing where they are not there.
std::optional<FoundPreprocess> found_in_metadata(const Metadata& metadata);

// Where other makers leave theirs, beside the model: of Hugging Face, and of timm.
inline constexpr std::string_view kHuggingFaceFile = "preprocessor_config.json";
inline constexpr std::string_view kTimmFile = "config.json";
// Nothing where the text is of something else. Throws Error(invalid_argument) naming `file` for one that is wrong, Error(unsupported) for
// steps that Octet does not have.
std::optional<FoundPreprocess> found_in_hugging_face(std::string_view text,
                                                     const std::string& file);
std::optional<FoundPreprocess> found_in_timm(std::string_view text, const std::string& file);

}  // namespace octet
