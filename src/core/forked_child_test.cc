// SPDX-License-Identifier: Apache-2.0
#include "core/forked_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/running_processes.h"

namespace octet {
namespace {

// What a child tells by memory that both share.
class Shared {
 public:
  Shared()
      : number_(new (mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>(0)) {}
  ~Shared() { munmap(number_, sizeof *number_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::atomic<int>& operator*() const { return *number_; }

 private:
  std::atomic<int>* number_;
};

[[noreturn]] void sleep_forever() {
  for (;;) pause();
}

bool lives(pid_t pid) {
  for (const RunningProcess& process : running_processes()) {
    if (process.pid == pid) return true;
  }
  return false;
}

TEST(ForkedChild, SaysHowItEnded) {
  const ChildOutcome good = run_forked([] {}, {});
  EXPECT_EQ(good.how, ChildEnd::left);
  EXPECT_EQ(good.code, 0);
  const ChildOutcome left = run_forked([] { _exit(7); }, {});
  EXPECT_EQ(to_string(left, {}), "ends with 7");
  const ChildOutcome died = run_forked([] { raise(SIGSEGV); }, {});
  EXPECT_EQ(died.how, ChildEnd::signal);
  EXPECT_EQ(died.code, SIGSEGV);
}

TEST(ForkedChild, WordsAreTakenToTheirEnd) {
  const auto body = [] {
    for (int i = 0; i < 100'000; ++i) std::puts("many");
    std::puts("the last");
  };
  const ChildOutcome outcome = run_forked(body, {});
  EXPECT_EQ(outcome.how, ChildEnd::left);
  EXPECT_TRUE(outcome.words.ends_with("many\nthe last\n"));
  EXPECT_LE(outcome.words.size(), 4000u);
}

TEST(ForkedChild, IsKilledWhenItsTimeIsOver) {
  const ChildLimits limits{.seconds = 1};
  EXPECT_EQ(to_string(run_forked(sleep_forever, limits), limits), "does not end within 1 s");
  const auto stubborn = [] {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    sleep_forever();
  };
  EXPECT_EQ(run_forked(stubborn, limits).how, ChildEnd::late);
}

TEST(ForkedChild, HasNoDescriptorOfOthers) {
  const int open_file = dup(STDERR_FILENO);
  const Shared count;
  run_forked(
      [&] {
        for (int fd = 0; fd < 1024; ++fd) *count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
      },
      {});
  close(open_file);
  EXPECT_EQ(*count, 3);
}

TEST(ForkedChild, WhatItStartsEndsWithIt) {
  const Shared grandchild;
  const auto body = [&] {
    const pid_t between = fork();
    if (between != 0) {
      waitpid(between, nullptr, 0);  // else it may be left behind as well
      while (*grandchild == 0) usleep(1000);
      return;
    }
    setsid();
    if (fork() != 0) _exit(0);
    *grandchild = getpid();
    sleep_forever();
  };
  const ChildOutcome outcome = run_forked(body, {});
  EXPECT_EQ(outcome.left_behind, 1);
  EXPECT_FALSE(lives(*grandchild));
}

TEST(ForkedChild, ItsKeeperIsOutOfReach) {
  const pid_t caller = getpid();
  const Shared reached;
  const auto body = [&] {
    for (const pid_t pid : {getppid(), caller, -getppid(), -getpgid(caller), -1}) {
      if (kill(pid, 0) == 0) ++*reached;
    }
  };
  EXPECT_EQ(run_forked(body, {}).how, ChildEnd::left);
  EXPECT_EQ(*reached, 0);
}

TEST(ForkedChild, LimitsCountAllOfItsProcesses) {
  const ChildLimits few{.seconds = 600, .processes = 4};
  const auto many = [] {
    for (int i = 0; i < 20; ++i) {
      if (fork() == 0) sleep_forever();
    }
    sleep_forever();
  };
  EXPECT_EQ(to_string(run_forked(many, few), few), "starts more than 4 processes");
  const ChildLimits little{.seconds = 600, .memory = s64{64} << 20};
  const auto greedy = [] {
    for (int i = 0; i < 2; ++i) {
      if (fork() != 0) continue;
      for (size_t bytes = 0; bytes < size_t{48} << 20; bytes += 4096) {
        static_cast<volatile char*>(std::malloc(4096))[0] = 1;
      }
      sleep_forever();
    }
    sleep_forever();
  };
  EXPECT_EQ(to_string(run_forked(greedy, little), little), "takes more than 64 MiB of memory");
}

// A process of gigabytes may check a plugin.
TEST(ForkedChild, MemoryOfTheCallerIsNotTheChilds) {
  std::vector<char> much(size_t{96} << 20, 'x');
  const ChildLimits little{.seconds = 600, .memory = s64{64} << 20};
  const auto body = [&] {
    usleep(300'000);  // to be counted more than once
    _exit(much.back() == 'x' ? 0 : 1);
  };
  EXPECT_EQ(to_string(run_forked(body, little), little), "ends with 0");
}

TEST(ForkedChild, FilesAndProcessorTimeAreLimited) {
  const ChildLimits limits{.seconds = 600, .processor_seconds = 1, .file_bytes = 1 << 20};
  const auto spin = [] {
    for (volatile int forever = 1; forever != 0;) {
    }
  };
  EXPECT_EQ(to_string(run_forked(spin, limits), limits), "takes more than 1 s of processor time");
  const auto fill = [] {
    std::FILE* file = std::tmpfile();
    std::fseek(file, 1 << 21, SEEK_SET);
    std::fputc('x', file);
    std::fclose(file);
  };
  EXPECT_EQ(to_string(run_forked(fill, limits), limits), "writes a file of more than 1 MiB");
}

}  // namespace
}  // namespace octet
