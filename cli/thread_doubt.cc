// SPDX-License-Identifier: Apache-2.0
#include "cli/thread_doubt.h"

#include <fmt/format.h>

#include <algorithm>

#include "octet/machine.h"

namespace octet::cli {

std::string doubt_of_threads(int threads, int streams) {
  const int all = std::max(1, threads) * std::max(1, streams), usable = usable_processors();
  if (all <= usable) return {};
  return fmt::format(
      "{} threads are asked for, and this process may use {} processor{} (its affinity and its "
      "control group's share): more threads than that wait for each other",
      all, usable, usable == 1 ? "" : "s");
}

std::string doubt_of_threads(const CLI::App& app) {
  const auto given = [&](const char* flag) {
    const CLI::Option* option = app.get_option_no_throw(flag);
    return option != nullptr && option->count() > 0 ? option->as<int>() : 0;
  };
  const int threads = given("--threads"), streams = given("--streams");
  return threads == 0 && streams == 0 ? "" : doubt_of_threads(threads, streams);
}

}  // namespace octet::cli
