// SPDX-License-Identifier: Apache-2.0
#include "onnx/attribute_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/check.h"
#include "onnx/element_types.h"
#include "onnx/text.h"

namespace octet {
namespace {

// 0 or 1, alone or in a list.
constexpr std::string_view kFlags[] = {
    "align_corners",
    "allowzero",
    "antialias",
    "broadcast",
    "ceil_mode",
    "center_point_box",
    "count_include_pad",
    "detect_negative",
    "detect_positive",
    "exclude_outside",
    "exclusive",
    "fmod",
    "input_forget",
    "interleaved",
    "inverse",
    "is_causal",
    "is_test",
    "keepdims",
    "largest",
    "layout",
    "linear_before_reset",
    "new_axis",
    "noop_with_empty_axes",
    "onesided",
    "periodic",
    "reverse",
    "saturate",
    "scan_input_directions",
    "scan_output_directions",
    "select_last_index",
    "sorted",
    "spatial",
    "storage_order",
    "training_mode",
    "transA",
    "transB",
    "upper",
};

// ONNX's number of an element type; 0 is "not given".
constexpr std::string_view kTypes[] = {"dtype",     "output_datatype",   "output_dtype",
                                       "precision", "softmax_precision", "stash_type",
                                       "to"};

struct Words {
  std::string_view attribute;
  std::span<const std::string_view> permitted;
};

constexpr std::string_view kAutoPad[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
constexpr std::string_view kDirection[] = {"forward", "reverse", "bidirectional", "LEFT", "RIGHT"};
constexpr std::string_view kApproximate[] = {"none", "tanh"};
constexpr std::string_view kReduction[] = {"none", "sum", "mean", "add", "mul", "min", "max"};
constexpr std::string_view kPolicy[] = {"stretch", "not_larger", "not_smaller"};
constexpr std::string_view kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                         "simple"};
constexpr std::string_view kPadding[] = {"zeros", "border", "reflection"};
constexpr std::string_view kRound[] = {"up", "down", "nearest"};
constexpr std::string_view kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_crop_and_resize",   "output_half_pixel",  "tf_half_pixel_for_nn"};

constexpr Words kWords[] = {
    {"approximate", kApproximate},
    {"auto_pad", kAutoPad},
    {"coordinate_transformation_mode", kCoordinates},
    {"direction", kDirection},
    {"keep_aspect_ratio_policy", kPolicy},
    {"nearest_mode", kNearest},
    {"padding_mode", kPadding},
    {"reduction", kReduction},
    {"round_mode", kRound},
};

bool is_in(std::span<const std::string_view> list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

void check_number(std::string_view name, s64 value) {
  if (is_in(kFlags, name) && value != 0 && value != 1) {
    fail(Error::Code::invalid_model, "attribute '{}' is {}, expected 0 or 1", name, value);
  }
  if (is_in(kTypes, name) && value != 0 && !is_element_type(value)) {
    fail(Error::Code::invalid_model, "attribute '{}' is {}, which is no element type of ONNX", name,
         value);
  }
}

void check_word(std::string_view name, const std::string& value) {
  for (const Words& words : kWords) {
    if (words.attribute != name || is_in(words.permitted, value)) continue;
    fail(Error::Code::invalid_model, "attribute '{}' is {}, expected one of {}", name,
         quote_name(value), fmt::join(words.permitted, ", "));
  }
}

}  // namespace

void check_attribute_values(const Attrs& attrs) {
  for (const auto& [name, value] : attrs.entries()) {
    if (const s64* number = std::get_if<s64>(&value)) check_number(name, *number);
    if (const auto* numbers = std::get_if<std::vector<s64>>(&value)) {
      for (s64 number : *numbers) check_number(name, number);
    }
    if (const auto* word = std::get_if<std::string>(&value)) check_word(name, *word);
  }
}

}  // namespace octet
