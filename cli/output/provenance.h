// SPDX-License-Identifier: Apache-2.0
// Where an engine comes from, as octet inspect --provenance says it and octet bundle keeps it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "octet/inspect.h"
#include "octet/provenance.h"

namespace octet::cli {

// The command line that makes the engine again, with DATA, CACHE and RANGES in place of files whose names are not known. The options stand
// in one order, however they were given; those that change nothing in the engine are left out.
std::string build_command(const Provenance& provenance);

// As a shell takes it for one word.
std::string quoted(const std::string& word);

void print_provenance(const Engine& engine, const Inspection& inspection);
nlohmann::ordered_json provenance_json(const Engine& engine, const Inspection& inspection);

}  // namespace octet::cli
