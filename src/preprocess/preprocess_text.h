// SPDX-License-Identifier: Apache-2.0
// The short texts of preprocessing options, shared by command-line flags and the JSON file. `what` names the option in
// errors: "crop" or "prep.json: key 'crop'".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "octet/preprocess.h"

namespace octet {

// "224x224": width first.
Preprocess::Size parse_size(std::string_view text, const std::string& what);
// "WxH" sets preprocess.resize, "SHORT" sets preprocess.resize_short; the other one is cleared.
void parse_resize(std::string_view text, const std::string& what, Preprocess* preprocess);
// "WxH", "WxH:FILL", "WxH:center" or "WxH:FILL:center".
void parse_letterbox(std::string_view text, const std::string& what, Preprocess* preprocess);
// "0.5" or "0.485,0.456,0.406"; finite numbers.
std::vector<f32> parse_floats(std::string_view text, const std::string& what);
// "rgb", "bgr" or "gray".
Preprocess::Color parse_color(std::string_view text, const std::string& what);

std::string_view color_name(Preprocess::Color color);
Preprocess::Orientation parse_orientation(std::string_view text, const std::string& what);
std::string_view orientation_name(Preprocess::Orientation orientation);
Preprocess::Align parse_align(std::string_view text, const std::string& what);
std::string_view align_name(Preprocess::Align align);  // "corner", "center"
Preprocess::Fit parse_fit(std::string_view text, const std::string& what);
std::string_view fit_name(Preprocess::Fit fit);     // "stretch", "crop", "letterbox"
std::string to_text(const Preprocess::Size& size);  // "224x224"
std::string preset_names();                         // "torchvision, yolo, ..."

// Throws Error(invalid_argument) for values that cannot be meant: a scale or std of 0, NaN, sizes past the pixel limit.
// `where` is the file name or the options as a whole.
void check_preprocess(const Preprocess& preprocess, const std::string& where);

}  // namespace octet
