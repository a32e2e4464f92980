// SPDX-License-Identifier: Apache-2.0
#include "cli/tensorrt_folders.h"

#include <algorithm>
#include <system_error>

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

// The folders of the module tensorrt in an environment: one for each Python that it has.
std::vector<fs::path> modules_of(const fs::path& environment) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entry(environment / "lib", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with("python3"))
      found.push_back(entry->path() / "site-packages/tensorrt");
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::vector<fs::path> tensorrt_folders(const std::string& part) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string built = part == "cudart" ? part : "lib-" + part;
  std::vector<fs::path> places = {program / "tensorrt" / built,
                                  program / OCTET_LIBRARIES_FROM_PROGRAM / "octet/tensorrt" / part};
  for (const fs::path& module : modules_of(program.parent_path())) places.push_back(module / built);
  std::erase_if(places, [&](const fs::path& place) { return !fs::is_directory(place, error); });
  return places;
}

}  // namespace octet::cli
