// SPDX-License-Identifier: Apache-2.0
#include "graph/float_attributes.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/check.h"
#include "graph/graph.h"
#include "graph/op_traits.h"

namespace octet {
namespace {

// Names that mean the same in every operator that has them.
constexpr FloatAttribute kCommon[] = {{"activation_max", FloatDomain::number},
                                      {"activation_min", FloatDomain::number},
                                      {"epsilon", FloatDomain::non_negative},
                                      {"momentum", FloatDomain::fraction},
                                      {"ratio", FloatDomain::fraction}};

const FloatAttribute* find(std::span<const FloatAttribute> list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &FloatAttribute::name);
  return found == list.end() ? nullptr : &*found;
}

FloatDomain domain_of(const Node& node, std::string_view name) {
  const OpTraits& traits = *node.op->traits;
  if (traits.foreign_attributes) return FloatDomain::any;
  if (const FloatAttribute* own = find(traits.floats, name)) return own->domain;
  const FloatAttribute* common = find(kCommon, name);
  return common == nullptr ? FloatDomain::finite : common->domain;
}

bool holds(FloatDomain domain, f32 x) {
  switch (domain) {
    case FloatDomain::finite:
      return std::isfinite(x);
    case FloatDomain::non_negative:
      return std::isfinite(x) && x >= 0.0f;
    case FloatDomain::positive:
      return std::isfinite(x) && x > 0.0f;
    case FloatDomain::nonzero:
      return std::isfinite(x) && x != 0.0f;
    case FloatDomain::fraction:
      return x >= 0.0f && x <= 1.0f;
    case FloatDomain::number:
      return !std::isnan(x);
    case FloatDomain::any:
      return true;
  }
  return true;
}

std::string_view words(FloatDomain domain) {
  switch (domain) {
    case FloatDomain::non_negative:
      return "a finite number from 0 on";
    case FloatDomain::positive:
      return "a finite number above 0";
    case FloatDomain::nonzero:
      return "a finite number other than 0";
    case FloatDomain::fraction:
      return "a number from 0 to 1";
    case FloatDomain::number:
      return "a number";
    case FloatDomain::finite:
    case FloatDomain::any:
      break;
  }
  return "a finite number";
}

// NaN has a sign for fmt, which says nothing to a user.
std::string text_of(f32 x) { return std::isnan(x) ? "NaN" : fmt::format("{}", x); }

}  // namespace

void check_float_attributes(const Node& node) {
  for (const auto& [name, value] : node.attrs.entries()) {
    if (const f32* x = std::get_if<f32>(&value)) {
      const FloatDomain domain = domain_of(node, name);
      if (holds(domain, *x)) continue;
      fail(Error::Code::invalid_model, "attribute '{}' is {}, expected {}", name, text_of(*x),
           words(domain));
    }
    const auto* list = std::get_if<std::vector<f32>>(&value);
    if (list == nullptr) continue;
    const FloatDomain domain = domain_of(node, name);
    const auto bad = std::ranges::find_if(*list, [&](f32 x) { return !holds(domain, x); });
    if (bad == list->end()) continue;
    fail(Error::Code::invalid_model, "element {} of attribute '{}' is {}, expected {}",
         bad - list->begin(), name, text_of(*bad), words(domain));
  }
}

}  // namespace octet
