// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/messages.h"
#include "cli/terminal.h"

namespace octet::cli {
namespace {

constexpr int kBarWidth = 30;
constexpr double kRedrawSeconds = 0.1;

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

ProgressBar::ProgressBar(bool json) : quiet_(json || quiet()), terminal_(is_terminal()) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(const Progress& progress) {
  if (quiet_) return;
  const auto time = Clock::now();
  if (progress.stage != now_.stage) {
    finish();
    stage_start_ = time;
    last_draw_ = {};
  }
  now_ = progress;
  if (terminal_ && seconds_between(last_draw_, time) >= kRedrawSeconds) {
    last_draw_ = time;
    draw(seconds_between(stage_start_, time));
  }
}

void ProgressBar::draw(double seconds) {
  drawn_ = true;
  std::string line = fmt::format("\r{:<12}", sanitize(now_.stage));
  if (now_.total > 0) {
    const double fraction =
        std::clamp(static_cast<double>(now_.done) / static_cast<double>(now_.total), 0.0, 1.0);
    const int filled = static_cast<int>(fraction * kBarWidth);
    line += fmt::format("[{:=<{}}{: <{}}] {}/{}", "", filled, "", kBarWidth - filled, now_.done,
                        now_.total);
    if (now_.done > 0 && now_.done < now_.total) {
      line += fmt::format("  {} left", human_seconds(seconds * (1 / fraction - 1)));
    }
  } else if (now_.done > 0) {
    line += fmt::format("{}", now_.done);
  }
  fmt::print(stderr, "{}\x1b[K", line);
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (quiet_ || now_.stage.empty()) return;
  const double seconds = seconds_between(stage_start_, Clock::now());
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  const std::string count = now_.done > 1 ? fmt::format("{}, ", now_.done) : "";
  message(fmt::format("{:<12}{}{}", sanitize(now_.stage), count, human_seconds(seconds)));
  now_ = {};
  drawn_ = false;
}

}  // namespace octet::cli
