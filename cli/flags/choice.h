// SPDX-License-Identifier: Apache-2.0
// Flags that take one of a few words: the words stand in the help, in the completions and in the error about any other.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace octet::cli {

// Refuses other words, with the one that was probably meant.
CLI::Validator one_of(std::vector<std::string> words);

// "--labels folder|prefix": writes the value that belongs to the word into `target`. The first is the default.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, T& target,
                        const std::vector<std::pair<std::string, T>>& choices,
                        const std::string& help) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  const auto take = [&target, choices](const std::string& word) {
    for (const auto& choice : choices) {
      if (choice.first == word) target = choice.second;
    }
  };
  return app.add_option_function<std::string>(flag, take, help)
      ->type_name(CLI::detail::join(words, "|"))
      ->default_str(words.front())
      ->check(one_of(words));
}

}  // namespace octet::cli
