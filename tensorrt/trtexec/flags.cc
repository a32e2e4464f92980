// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace octet::cli::trtexec {
namespace {

constexpr Flag kFlags[] = {
#define USED(name, group, value, help) {name, Group::group, value, help, Effect::used, ""},
#define IDLE(name, group, value, help, why) {name, Group::group, value, help, Effect::idle, why},
#define REFUSED(name, group, value, help, why) \
  {name, Group::group, value, help, Effect::refused, why},
#include "tensorrt/trtexec/flags.def"
#undef REFUSED
#undef IDLE
#undef USED
};

constexpr Group kGroups[] = {Group::model,  Group::build, Group::inference, Group::reporting,
                             Group::system, Group::octet, Group::help};

void print_flag(const Flag& flag) {
  std::string name(flag.name);
  if (!flag.value.empty()) name += fmt::format("={}", flag.value);
  fmt::print("  {:<34} {}", name, flag.help);
  if (flag.effect == Effect::idle) fmt::print("; no effect here: {}", flag.why);
  if (flag.effect == Effect::refused) fmt::print("; refused here: {}", flag.why);
  fmt::print("\n");
}

}  // namespace

std::span<const Flag> flags() { return kFlags; }

const Flag* find_flag(std::string_view name) {
  const auto found = std::ranges::find(kFlags, name, &Flag::name);
  return found == std::end(kFlags) ? nullptr : found;
}

std::string_view title_of(Group group) {
  switch (group) {
    case Group::model:
      return "Model Options";
    case Group::build:
      return "Build Options";
    case Group::inference:
      return "Inference Options";
    case Group::reporting:
      return "Reporting Options";
    case Group::system:
      return "System Options";
    case Group::octet:
      return "Octet Options";
    case Group::help:
      break;
  }
  return "Help";
}

void print_help() {
  for (const Group group : kGroups) {
    fmt::print("{}=== {} ===\n", group == Group::model ? "" : "\n", title_of(group));
    for (const Flag& flag : kFlags) {
      if (flag.group == group) print_flag(flag);
    }
  }
}

}  // namespace octet::cli::trtexec
