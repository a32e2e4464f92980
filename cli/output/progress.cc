// SPDX-License-Identifier: Apache-2.0
#include "cli/output/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string_view>

#include "cli/output/messages.h"
#include "cli/output/terminal.h"

namespace octet::cli {
namespace {

constexpr int kBarWidth = 30;
constexpr double kRedrawSeconds = 0.1;
constexpr double kLineSeconds = 10;

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

ProgressBar::~ProgressBar() {
  try {
    finish();
  } catch (const std::bad_alloc&) {
    // The last line of a stage is missing.
  }
}

void ProgressBar::update(const Progress& progress) {
  if (quiet_) return;
  const auto time = Clock::now();
  if (progress.stage != now_.stage) {
    finish();
    stage_start_ = time;
    last_draw_ = terminal_ ? Clock::time_point() : time;
    first_done_ = 0;
  }
  now_ = progress;
  if (first_done_ == 0 && progress.done > 0) {
    first_report_ = time;
    first_done_ = progress.done;
  }
  if (seconds_between(last_draw_, time) < (terminal_ ? kRedrawSeconds : kLineSeconds)) return;
  last_draw_ = time;
  draw();
}

std::string ProgressBar::left() const {
  const int64_t since = now_.done - first_done_;
  if (first_done_ == 0 || since <= 0 || now_.done >= now_.total) return "";
  const double pace = seconds_between(first_report_, last_draw_) / static_cast<double>(since);
  return human_seconds(pace * static_cast<double>(now_.total - now_.done)) + " left";
}

void ProgressBar::draw() {
  std::string counts = now_.done > 0 ? fmt::format("{}", now_.done) : "";
  if (now_.total > 0) counts = fmt::format("{}/{}", now_.done, now_.total);
  const std::string rest = left();
  if (!rest.empty()) counts += (terminal_ ? "  " : ", ") + rest;
  if (!terminal_) {
    if (!counts.empty()) message(fmt::format("{:<12}{}", sanitize(now_.stage), counts));
    return;
  }
  drawn_ = true;
  std::string line = fmt::format("\r{:<12}", sanitize(now_.stage));
  if (now_.total > 0) {
    const double fraction =
        std::clamp(static_cast<double>(now_.done) / static_cast<double>(now_.total), 0.0, 1.0);
    const int filled = static_cast<int>(fraction * kBarWidth);
    line += fmt::format("[{:=<{}}{: <{}}] ", "", filled, "", kBarWidth - filled);
  }
  write_to_stderr(fmt::format("{}{}\x1b[K", line, counts));
}

void ProgressBar::finish() {
  if (quiet_ || now_.stage.empty()) return;
  const double seconds = seconds_between(stage_start_, Clock::now());
  if (drawn_) write_to_stderr("\r\x1b[K");
  const std::string count = now_.done > 1 ? fmt::format("{}, ", now_.done) : "";
  message(fmt::format("{:<12}{}{}", sanitize(now_.stage), count, human_seconds(seconds)));
  now_ = {};
  drawn_ = false;
}

}  // namespace octet::cli
