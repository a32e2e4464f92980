// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "octet/closest.h"

namespace octet::cli {

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words](std::string& word) -> std::string {
        if (std::ranges::find(words, word) != words.end()) return {};
        return fmt::format("'{}' is none of {}{}", word, CLI::detail::join(words, ", "),
                           did_you_mean(word, words));
      },
      "");
}

}  // namespace octet::cli
