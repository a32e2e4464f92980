// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/shapes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/fail.h"
#include "octet/tensorrt_plan.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

enum Selector : size_t { kMin, kOpt, kMax };
constexpr std::array<std::string_view, 3> kNames = {"minShapes", "optShapes", "maxShapes"};
// Where a shape that is not given is taken from, best first.
constexpr Selector kSources[3][2] = {{kOpt, kMax}, {kMax, kMin}, {kOpt, kMin}};

struct Given {
  std::array<std::map<std::string, Shape>, 3> shapes;
  std::array<bool, 3> present = {};

  void set(Selector selector, const std::string& text) {
    present[selector] = true;
    shapes[selector] = parse_shape_list(text);
  }
  bool any() const { return present[kMin] || present[kOpt] || present[kMax]; }
};

// The flag of a selector, "--minShapes", or nothing.
const Selector* selector_of(std::string_view flag) {
  static constexpr Selector kSelectors[] = {kMin, kOpt, kMax};
  for (const Selector& selector : kSelectors) {
    if (flag.starts_with("--") && flag.substr(2) == kNames[selector]) return &selector;
  }
  return nullptr;
}

Shape range_end(const Given& given, Selector end, const std::string& name) {
  Selector from = end;
  if (!given.present[end]) {
    from = given.present[kSources[end][0]] ? kSources[end][0] : kSources[end][1];
    warning("{} is being broadcasted to {} for tensor {}", kNames[from], kNames[end], name);
  }
  const auto found = given.shapes[from].find(name);
  if (found == given.shapes[from].end())
    fail(Error::Code::invalid_argument, "input '{}' has no shape in --{}", name, kNames[from]);
  return found->second;
}

// Of the sizes alone: what the model takes is known when it is there.
void check_order(const std::string& name, const ShapeRange& range) {
  const auto sizes = [](const Shape& shape) {
    return std::vector<int64_t>(shape.begin(), shape.end());
  };
  const std::string wrong = order_problem({sizes(range.min), sizes(range.opt), sizes(range.max)});
  if (!wrong.empty())
    fail(Error::Code::invalid_argument,
         "minShapes, optShapes and maxShapes of input '{}' make no optimization profile: {}", name,
         wrong);
}

ShapeRanges ranges_of(const Given& given) {
  ShapeRanges ranges;
  for (const auto& shapes : given.shapes) {
    for (const auto& [name, shape] : shapes) {
      if (ranges.contains(name)) continue;
      ShapeRange range;
      range.min = range_end(given, kMin, name);
      range.opt = range_end(given, kOpt, name);
      range.max = range_end(given, kMax, name);
      check_order(name, range);
      ranges.emplace(name, range);
    }
  }
  return ranges;
}

void add_profile(size_t index, const Given& given, std::vector<ShapeRanges>& profiles) {
  constexpr size_t kMostProfiles = 64;
  if (index >= kMostProfiles)
    fail(Error::Code::invalid_argument, "--profile={}: there are at most {}", index, kMostProfiles);
  if (index >= profiles.size()) profiles.resize(index + 1);
  if (!profiles[index].empty())
    fail(Error::Code::invalid_argument, "Optimization profile index cannot be the same.");
  profiles[index] = ranges_of(given);
}

// Each --profile has the shapes that stand behind it.
std::vector<ShapeRanges> numbered_profiles(const Arguments& given) {
  std::vector<ShapeRanges> profiles;
  const auto all = given.all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != "--profile") continue;
    const size_t index =
        static_cast<size_t>(Arguments(all.subspan(i, 1)).integer("--profile", 0, 0, 1'000'000));
    Given shapes;
    for (size_t k = i + 1; k < all.size(); ++k) {
      const Selector* selector = selector_of(all[k].name);
      if (selector == nullptr || shapes.present[*selector]) break;
      shapes.set(*selector, all[k].value);
    }
    add_profile(index, shapes, profiles);
  }
  for (size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].empty())
      fail(Error::Code::invalid_argument,
           "Found invalid or missing shape spec at profile index {}. ", i);
  }
  return profiles;
}

bool fits(const Shape& declared, const Shape& shape) {
  if (declared.is_unknown()) return true;
  if (declared.rank() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (declared[i] >= 0 && declared[i] != shape[i]) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, Shape> parse_shape_list(const std::string& text) {
  std::map<std::string, Shape> shapes;
  for (const std::string& entry : split(text, ',')) {
    const auto [name, dims] = name_and_value(entry);
    if (std::ranges::count(name, '*') > 1)
      fail(Error::Code::invalid_argument, "'{}': a name has at most one '*'", entry);
    shapes[name] = parse_dims(dims, entry);
  }
  return shapes;
}

std::vector<ShapeRanges> parse_profiles(const Arguments& given) {
  if (given.has("--profile")) return numbered_profiles(given);
  Given shapes;
  for (const Argument& argument : given.all()) {
    const Selector* selector = selector_of(argument.name);
    if (selector == nullptr) continue;
    if (shapes.present[*selector])
      fail(Error::Code::invalid_argument,
           "Multiple --minShapes/--optShapes/--maxShapes without --profile are not allowed. ");
    shapes.set(*selector, argument.value);
  }
  return {shapes.any() ? ranges_of(shapes) : ShapeRanges{}};
}

ShapeRanges parse_calibration_shapes(const Arguments& given) {
  Given shapes;
  for (const Selector selector : {kMin, kOpt, kMax}) {
    const std::string flag = "--" + std::string(kNames[selector]) + "Calib";
    if (given.has(flag)) shapes.set(selector, given.text(flag));
  }
  const bool both = shapes.present[kMin] && shapes.present[kMax];
  const bool ends = shapes.present[kMin] || shapes.present[kMax];
  if (ends && !(both && shapes.present[kOpt]))
    fail(Error::Code::invalid_argument,
         "Must specify only --optShapesCalib or all of --minShapesCalib, --optShapesCalib, "
         "--maxShapesCalib");
  return ranges_of(shapes);
}

std::string dims_text(const Shape& shape) {
  std::string text;
  for (const int64_t dim : shape) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

bool names(std::string_view pattern, std::string_view input) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == input;
  return input.size() + 1 >= pattern.size() && input.starts_with(pattern.substr(0, star)) &&
         input.ends_with(pattern.substr(star + 1));
}

void check_names(const std::vector<TensorInfo>& inputs, std::span<const std::string> given) {
  for (const std::string& name : given) {
    const bool known = std::ranges::any_of(
        inputs, [&](const TensorInfo& input) { return names(name, input.name); });
    if (known) continue;
    fail(Error::Code::invalid_argument,
         "Cannot find input tensor with name \"{}\" in the network inputs! Please make sure the "
         "input tensor names are correct.",
         name);
  }
}

void check_fits(const TensorInfo& input, const Shape& shape) {
  if (fits(input.type.shape, shape)) return;
  fail(Error::Code::invalid_argument,
       "The engine was built with static shapes for input tensor {} but the provided shapes do not "
       "match the static shapes! It takes {}, given is {}.",
       input.name, to_string(input.type.shape), to_string(shape));
}

std::vector<Shape> shapes_of_inputs(const std::vector<TensorInfo>& inputs,
                                    const std::map<std::string, Shape>& shapes) {
  check_names(inputs, shapes);
  std::vector<Shape> result;
  for (const TensorInfo& input : inputs) {
    const Shape* given = entry_for(shapes, input.name);
    const Shape& shape = given == nullptr ? input.type.shape : *given;
    check_fits(input, shape);
    result.push_back(shape);
  }
  return result;
}

void check_in_profile(const ShapeRanges& profile, size_t index, const std::string& input,
                      const Shape& shape) {
  const ShapeRange* range = entry_for(profile, input);
  if (range == nullptr) return;
  bool inside = shape.rank() == range->min.rank() && shape.rank() == range->max.rank();
  for (int i = 0; inside && i < shape.rank(); ++i)
    inside = range->min[i] <= shape[i] && shape[i] <= range->max[i];
  if (inside) return;
  fail(Error::Code::invalid_argument,
       "Set dimension [{}] for tensor {} does not satisfy any optimization profiles. Valid range "
       "for "
       "profile {}: [{}]..[{}].",
       dims_text(shape), input, index, dims_text(range->min), dims_text(range->max));
}

}  // namespace octet::cli::trtexec
