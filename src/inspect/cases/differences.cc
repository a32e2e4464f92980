// SPDX-License-Identifier: Apache-2.0
#include "inspect/cases/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "inspect/json.h"
#include "octet/error_stats.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAbsent = "none";

void add_difference(std::vector<Difference>& into, std::string what, std::string recorded,
                    std::string here, bool changes_results) {
  if (recorded == here) return;
  into.push_back({std::move(what), std::move(recorded), std::move(here), changes_results});
}

std::string value_text(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) return kAbsent;
  return found->is_string() ? found->get<std::string>() : json_text(*found);
}

// Keys of either.
void compare_options(const Json& recorded, const Json& here, std::vector<Difference>& into) {
  Json all = recorded;
  all.update(here);
  for (const auto& [key, value] : all.items())
    add_difference(into, "options." + key, value_text(recorded, key), value_text(here, key), true);
}

void compare_provenance(const Provenance& recorded, const Provenance& here,
                        std::vector<Difference>& into) {
  const Json was = Json::parse(to_json(recorded)), is = Json::parse(to_json(here));
  for (const char* key : {"octet", "compiler"})
    add_difference(into, std::string("built by ") + key, value_text(was, key), value_text(is, key),
                   false);
  compare_options(was["options"], is["options"], into);
  for (const char* key : {"preprocess", "model_hash", "data_hash", "cache_hash", "methods",
                          "samples", "ranges", "ranges_hash"})
    add_difference(into, key, value_text(was, key), value_text(is, key), true);
}

std::string decision_text(const CaseDecision& decision) {
  return fmt::format("{} ({}) in layer '{}'", decision.precision, decision.reason_code,
                     decision.layer);
}

using TextByName = std::map<std::string, std::string>;

// Models may call several nodes alike.
class UniqueNames {
 public:
  std::string operator()(const std::string& name) {
    const int count = ++counts_[name];
    return count == 1 ? name : fmt::format("{} #{}", name, count);
  }

 private:
  std::map<std::string, int> counts_;
};

// In the recorded order; then what is here alone.
void compare_decisions(const Case& recorded, const Case& here, std::vector<Difference>& into) {
  const auto add = [&](const std::string& node, const std::string& was, const std::string& is) {
    add_difference(into, fmt::format("decision of '{}'", node), was, is, true);
  };
  TextByName left;
  UniqueNames name_here, name_recorded;
  for (const CaseDecision& one : here.decisions) left[name_here(one.node)] = decision_text(one);
  for (const CaseDecision& one : recorded.decisions) {
    const std::string node = name_recorded(one.node);
    const auto found = left.find(node);
    add(node, decision_text(one), found == left.end() ? kAbsent : found->second);
    if (found != left.end()) left.erase(found);
  }
  for (const auto& [node, text] : left) add(node, kAbsent, text);
}

// One line for all: they change with the machine, and no result with them.
void compare_kernels(const Case& recorded, const Case& here, std::vector<Difference>& into) {
  TextByName kernels;
  UniqueNames name_here, name_recorded;
  for (const auto& [layer, kernel] : here.kernels) kernels[name_here(layer)] = kernel;
  std::string first_was, first_is;
  size_t others = 0;
  for (const auto& [name, kernel] : recorded.kernels) {
    const std::string layer = name_recorded(name);
    const auto found = kernels.find(layer);
    const std::string is = found == kernels.end() ? kAbsent : found->second;
    if (is == kernel || others++ > 0) continue;
    first_was = kernel;
    first_is = fmt::format("{} in layer '{}'", is, layer);
  }
  if (others == 0) return;
  into.push_back({fmt::format("kernels of {} of {} layers", others, recorded.kernels.size()),
                  first_was, first_is, false});
}

std::string element_text(const Tensor& tensor, size_t index, float value) {
  return fmt::format("{} with {:.9g} at [{}]", to_string(tensor.type()), value, index);
}

}  // namespace

void compare_programs(const Case& recorded, const Case& here, std::vector<Difference>& into) {
  add_difference(into, "octet", recorded.version, here.version, false);
  add_difference(into, "compiler", recorded.compiler, here.compiler, false);
  add_difference(into, "chip", recorded.device.chip, here.device.chip, false);
  add_difference(into, "isa", recorded.device.level, here.device.level, false);
}

void compare_engines(const Case& recorded, const Case& here, std::vector<Difference>& into) {
  if (recorded.provenance && here.provenance) {
    compare_provenance(*recorded.provenance, *here.provenance, into);
  } else {
    add_difference(into, "provenance", recorded.provenance ? "said" : kAbsent,
                   here.provenance ? "said" : kAbsent, false);
  }
  compare_decisions(recorded, here, into);
  compare_kernels(recorded, here, into);
}

std::optional<Difference> compare_output(const std::string& what, const Tensor& recorded,
                                         const Tensor& here) {
  if (!(recorded.type() == here.type()))
    return Difference{what, to_string(recorded.type()), to_string(here.type()), true};
  if (recorded.bytes() == 0 || std::memcmp(recorded.data(), here.data(), here.bytes()) == 0)
    return std::nullopt;
  const std::vector<float> was = to_floats(recorded), is = to_floats(here);
  const size_t element = recorded.bytes() / was.size();
  size_t first = 0;
  while (std::memcmp(recorded.data() + first * element, here.data() + first * element, element) ==
         0)
    ++first;
  ErrorStats stats;
  stats.add(was, is);
  return Difference{
      what, element_text(recorded, first, was[first]),
      fmt::format("{}; SQNR {:.2f} dB, largest difference {:.3g}",
                  element_text(here, first, is[first]), stats.sqnr_db(), stats.max_abs()),
      true, true};
}

}  // namespace octet
