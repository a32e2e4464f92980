// SPDX-License-Identifier: Apache-2.0
// case.json of a case: everything that is no file of its own.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "octet/case.h"

namespace octet {

// Hashes of the files in the archive, by name.
using CaseFiles = std::map<std::string, std::string>;

std::string write_case_json(const Case& from, const CaseFiles& files);
// Fills all but files and the tensors of runs. Throws Error(invalid_argument) naming `name`.
void read_case_json(std::string_view text, const std::string& name, Case& into, CaseFiles& files);

}  // namespace octet
