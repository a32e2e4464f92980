// SPDX-License-Identifier: Apache-2.0
// The flags of trtexec as a table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace octet::cli::trtexec {

enum class Group : uint8_t { model, build, inference, reporting, system, octet, help };
enum class Effect : uint8_t { used, idle, refused };

struct Flag {
  std::string_view name;
  Group group;
  std::string_view value;  // what stands behind '='; empty for a switch
  std::string_view help;
  Effect effect;
  std::string_view why;  // it has no effect, or is refused
};

std::span<const Flag> flags();
const Flag* find_flag(std::string_view name);  // null: trtexec knows no such flag
std::string_view title_of(Group group);        // "Build Options"

// What --help prints.
void print_help();

}  // namespace octet::cli::trtexec
