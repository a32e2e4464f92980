// SPDX-License-Identifier: Apache-2.0
#include "core/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/check.h"

extern char** environ;

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

pid_t start(const std::vector<std::string>& words, int input, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  std::vector<char*> arguments;
  // The program changes none of its arguments; the interface takes them without const.
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A group of its own, which ends whole: the program may be a script that starts another.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int failed =
      posix_spawnp(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) fail(Error::Code::io, "'{}' cannot be started: {}", words[0], strerror(failed));
  return child;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words) : program_(words.at(0)) {
  Ends socket = open_ends(true), errors = open_ends(false);
  pid_ = start(words, socket.others, errors.others);
  socket_ = socket.take();
  errors_ = errors.take();
}

ChildProcess::~ChildProcess() {
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close(socket_);
  close(errors_);
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
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ends[] = {{socket_, event, 0}, {errors_, POLLIN, 0}};
    const auto milliseconds = std::clamp<s64>(left.count(), 0, 60'000);
    const int ready = poll(ends, 2, static_cast<int>(milliseconds));
    if (ready < 0 && errno != EINTR)
      fail(Error::Code::io, "waiting for '{}': {}", program_, strerror(errno));
    if (ready > 0 && ends[1].revents != 0) take_words();
    if (ready > 0 && ends[0].revents != 0) return;
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
