// SPDX-License-Identifier: Apache-2.0
#include "core/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace octet {
namespace {

constexpr size_t kMostWords = 4000;

// Two ends, closed unless they are taken.
struct Ends {
  int own = -1, others = -1;
  ~Ends() {
    for (const int end : {own, others}) {
      if (end >= 0) close(end);
    }
  }
  int take() { return std::exchange(own, -1); }
};

Ends open_ends(bool socket) {
  int ends[2];
  const int failed =
      socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC);
  if (failed != 0) fail(Error::Code::io, "no pipe to another process: {}", strerror(errno));
  fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK);
  return {ends[0], ends[1]};
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, const ChildLimits& limits)
    : program_(words.at(0)), limits_(limits) {
  Ends socket = open_ends(true), errors = open_ends(false);
  child_.emplace(words, ChildStreams{socket.others, errors.others, errors.others}, limits);
  socket_ = socket.take();
  errors_ = errors.take();
}

ChildProcess::~ChildProcess() {
  child_.reset();
  close(socket_);
  if (errors_ >= 0) close(errors_);
}

void ChildProcess::write(std::span<const u8> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      wait_for(POLLOUT, deadline);
    } else if (n < 0 && errno != EINTR) {
      fail_ended();
    }
  }
}

void ChildProcess::read(std::span<u8> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = recv(socket_, bytes.data(), bytes.size(), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      wait_for(POLLIN, deadline);
    } else if (n == 0 || errno != EINTR) {
      fail_ended();
    }
  }
}

void ChildProcess::wait_for(short event, Deadline deadline) {
  constexpr s64 kPatience = 1000;  // in ms, until the limits are looked at again
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ends[] = {{socket_, event, 0}, {errors_, POLLIN, 0}};
    const auto milliseconds = std::clamp<s64>(left.count(), 0, kPatience);
    const int ready = poll(ends, 2, static_cast<int>(milliseconds));
    if (ready < 0 && errno != EINTR)
      fail(Error::Code::io, "waiting for '{}': {}", program_, strerror(errno));
    if (ready > 0 && ends[1].revents != 0) take_words();
    if (ready > 0 && ends[0].revents != 0) return;
    if (const auto limit = child_->passed())
      fail_about(*limit == ChildEnd::memory ? "Limits.memory" : "", Error::Code::out_of_memory,
                 "'{}' {}{}", program_, to_string({.how = *limit}, limits_), last_words());
    if (left.count() <= 0)
      fail(Error::Code::io, "'{}' does not answer in time{}", program_, last_words());
  }
}

bool ChildProcess::take_words() {
  char buffer[4096];
  const ssize_t n = ::read(errors_, buffer, sizeof buffer);
  if (n == 0) {
    // It closed them: poll passes over what is negative.
    close(errors_);
    errors_ = -1;
  }
  if (n <= 0) return false;
  words_.append(buffer, static_cast<size_t>(n));
  if (words_.size() > kMostWords) words_.erase(0, words_.size() - kMostWords);
  return true;
}

void ChildProcess::fail_ended() {
  // What it said before lies in the pipe, which holds 64 KiB; others may go on writing.
  for (int piece = 0; piece < 32 && errors_ >= 0 && take_words(); ++piece) {
  }
  fail(Error::Code::io, "'{}' ended before it answered{}", program_, last_words());
}

std::string ChildProcess::last_words() const {
  const size_t end = words_.find_last_not_of(" \n");
  return end == words_.npos ? "" : "; it said:\n" + words_.substr(0, end + 1);
}

}  // namespace octet
