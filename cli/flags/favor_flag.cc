// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/favor_flag.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "cli/fail.h"

namespace octet::cli {
namespace {

// As a part of the engine's time; nothing: no word of the flag.
std::optional<double> time_of(std::string_view word) {
  if (word == "speed") return 0;
  if (word == "accuracy") return kAllForAccuracy;
  if (word.ends_with('%')) word.remove_suffix(1);
  double percent = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), percent);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (!(percent >= 0 && percent <= 100)) return std::nullopt;
  return percent / 100;
}

std::string check_word(const std::string& word) {
  if (time_of(word)) return {};
  return fmt::format("'{}' is neither speed nor accuracy nor a number of per cent from 0 to 100",
                     word);
}

}  // namespace

void add_favor_flag(CLI::App& app, FavorFlag& flag) {
  app.add_option("--favor", flag.word,
                 fmt::format("measure on samples what the codes of each layer cost, and leave "
                             "layers in f32 for accuracy while the engine gets no slower, {:g}% "
                             "slower, or N%; otherwise an estimate decides",
                             kAllForAccuracy * 100))
      ->type_name("speed|accuracy|N%")
      ->check(check_word);
}

void apply(const FavorFlag& flag, CompileOptions& options) {
  if (flag.word.empty()) return;
  const auto& calibration = options.calibration;
  const bool seen = calibration && (!calibration->data.empty() || calibration->cache != nullptr);
  if (!options.plan.int8 || !seen) {
    fail(Error::Code::invalid_argument,
         "--favor has no use without --int8 and --calib or --calib-cache: no layer is measured");
  }
  options.plan.accuracy_time = *time_of(flag.word);
  options.calibration->try_layers = true;
}

}  // namespace octet::cli
