// SPDX-License-Identifier: Apache-2.0
#include "inspect/compare/python_search.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace octet {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void add_program(const fs::path& path, std::vector<std::string>& list) {
  const std::string text = path.string();
  if (access(text.c_str(), X_OK) == 0 && std::ranges::find(list, text) == list.end())
    list.push_back(text);
}

}  // namespace

std::vector<std::string> python_candidates() {
  if (std::string chosen = variable("OCTET_PYTHON"); !chosen.empty()) return {std::move(chosen)};
  std::vector<std::string> list;
  if (const std::string folder = variable("VIRTUAL_ENV"); !folder.empty())
    add_program(fs::path(folder) / "bin/python", list);
  add_program(".venv/bin/python", list);
  const std::string folders = variable("PATH");
  for (size_t at = 0; at < folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    // An empty entry would be the current folder.
    if (end > at) add_program(fs::path(folders.substr(at, end - at)) / "python3", list);
    at = end + 1;
  }
  return list;
}

}  // namespace octet
