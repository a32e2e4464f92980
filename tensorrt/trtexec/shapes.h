// SPDX-License-Identifier: Apache-2.0
// Shapes of optimization profiles: --minShapes, --optShapes, --maxShapes, --profile, --shapes.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/engine.h"
#include "tensorrt/trtexec/arguments.h"

namespace octet::cli::trtexec {

struct ShapeRange {
  Shape min;
  Shape opt;
  Shape max;
};
using ShapeRanges = std::map<std::string, ShapeRange>;  // by input

// "a:1x3,b:2" by name.
std::map<std::string, Shape> parse_shape_list(const std::string& text);
// One for each --profile, or one of the flags without it; what is not given is taken from what is, with a warning.
std::vector<ShapeRanges> parse_profiles(const Arguments& given);
ShapeRanges parse_calibration_shapes(const Arguments& given);

std::string dims_text(const Shape& shape);  // "1x3x224x224"
// Whether an input is meant by its name, or by one with a '*' in it.
bool names(std::string_view pattern, std::string_view input);
// The entry of an input, by its name rather than by a pattern; null where there is none.
template <class Value>
const Value* entry_for(const std::map<std::string, Value>& entries, const std::string& input) {
  if (const auto exact = entries.find(input); exact != entries.end()) return &exact->second;
  for (const auto& [name, value] : entries) {
    if (names(name, input)) return &value;
  }
  return nullptr;
}
// Throws Error(invalid_argument) for names of no input.
void check_names(const std::vector<TensorInfo>& inputs, std::span<const std::string> names);
template <class Value>
void check_names(const std::vector<TensorInfo>& inputs,
                 const std::map<std::string, Value>& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.first);
  check_names(inputs, names);
}
// Throws Error(invalid_argument) for sizes that the engine has otherwise.
void check_fits(const TensorInfo& input, const Shape& shape);
// One for each input, of which those of open sizes are given. Throws Error(invalid_argument) for names of no input and for sizes that the
// engine has otherwise.
std::vector<Shape> shapes_of_inputs(const std::vector<TensorInfo>& inputs,
                                    const std::map<std::string, Shape>& shapes);
// Throws Error(invalid_argument) for a shape beyond those of an input in profile `index`.
void check_in_profile(const ShapeRanges& profile, size_t index, const std::string& input,
                      const Shape& shape);

}  // namespace octet::cli::trtexec
