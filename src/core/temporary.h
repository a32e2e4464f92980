// SPDX-License-Identifier: Apache-2.0
// Names of temporary files beside the file that they become: nobody else gives a file such a name.
#pragma once

#include <filesystem>
#include <string>

#include "core/types.h"

namespace octet {

// "model.octet.1234-0.3f2a9c41d07be865.tmp" for "model.octet": process, number, and a digest of all three. `target` is a file's name
// without its folder.
std::string temporary_name(const std::string& target, s64 process, int number);
bool is_temporary_of(const std::string& name, const std::string& target);

// Removes what writers of this file left behind when they were killed. Whatever cannot be removed stays: it does no harm.
void remove_abandoned(const std::filesystem::path& path);

// The writer of a temporary file holds this lock; the system drops it when the writer dies.
bool lock_now(int fd);

}  // namespace octet
