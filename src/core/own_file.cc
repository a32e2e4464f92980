// SPDX-License-Identifier: Apache-2.0
#include "core/own_file.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace octet {

std::string own_file() {
  namespace fs = std::filesystem;
  std::error_code error;
  Dl_info info{};
  link_map* library = nullptr;
  const int found = dladdr1(reinterpret_cast<void*>(&own_file), &info,
                            reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP);
  // The loader names a library by its path and the program by nothing, in whatever way that was called.
  if (found != 0 && library != nullptr && library->l_name[0] != '\0') {
    const fs::path file = fs::canonical(library->l_name, error);
    if (!error) return file.string();
  }
  return fs::read_symlink("/proc/self/exe", error).string();
}

}  // namespace octet
