// SPDX-License-Identifier: Apache-2.0
#include "runtime/equalized.h"

#include <algorithm>
#include <cmath>

#include "core/channel_exponent.h"
#include "core/check.h"

namespace octet {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghijk";
static_assert(kDigits.size() == kMostExponent + 1);

}  // namespace

std::string network_name(const EqualizedValues& equalized, std::string_view name) {
  std::string plain(name);
  const size_t at = plain.rfind(kEqualizedMark);
  if (at != std::string::npos && equalized.contains(name)) plain.erase(at, kEqualizedMark.size());
  return plain;
}

Tensor network_value(const EqualizedValues& equalized, std::string_view name, const Tensor& value) {
  const auto at = equalized.find(name);
  const Shape& shape = value.shape();
  if (at == equalized.end() || value.dtype() != Dtype::f32 || shape.rank() != 4 ||
      shape[1] != std::ssize(at->second))
    return value;
  Tensor plain(Dtype::f32, shape);
  const auto from = value.as<f32>();
  const auto to = plain.mutable_as<f32>();
  const auto pixels = static_cast<size_t>(shape[2] * shape[3]);
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = std::ldexp(from[i], -at->second[i / pixels % at->second.size()]);
  return plain;
}

std::vector<std::string> equalized_lines(const EqualizedValues& equalized) {
  std::vector<std::string> lines;
  for (const auto& [name, exponents] : equalized) {
    if (name.find('\n') == std::string::npos)
      lines.push_back(exponents_text(exponents) + ' ' + name);
  }
  return lines;
}

EqualizedValues equalized_from(const std::vector<std::string>& lines) {
  EqualizedValues equalized;
  for (const std::string& line : lines) {
    const size_t end = std::min(line.find(' '), line.size());
    equalized.emplace(line.substr(std::min(end + 1, line.size())),
                      exponents_from(std::string_view(line).substr(0, end)));
  }
  return equalized;
}

std::string exponents_text(const std::vector<s8>& exponents) {
  std::string text;
  for (const s8 exponent : exponents) text += kDigits[static_cast<size_t>(exponent)];
  return text;
}

std::vector<s8> exponents_from(std::string_view text) {
  std::vector<s8> exponents;
  for (const char digit : text) {
    const size_t at = kDigits.find(digit);
    if (at == std::string_view::npos)
      fail(Error::Code::invalid_model, "'{}' is no exponent of a channel; make the file again",
           digit);
    exponents.push_back(static_cast<s8>(at));
  }
  return exponents;
}

}  // namespace octet
