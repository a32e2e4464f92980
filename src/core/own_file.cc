// SPDX-License-Identifier: Apache-2.0
#include "core/own_file.h"

#include <dlfcn.h>

#include <filesystem>

namespace octet {

std::string own_file() {
  namespace fs = std::filesystem;
  std::error_code error;
  Dl_info info{};
  // The loader names a library by its path, and a program as it was called, which is a path from the folder of that time.
  if (dladdr(reinterpret_cast<void*>(&own_file), &info) != 0 && info.dli_fname != nullptr &&
      info.dli_fname[0] == '/') {
    const fs::path file = fs::canonical(info.dli_fname, error);
    if (!error) return file.string();
  }
  return fs::read_symlink("/proc/self/exe", error).string();
}

}  // namespace octet
