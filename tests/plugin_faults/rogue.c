/* SPDX-License-Identifier: Apache-2.0
 *
 * An operator that copies its input, and does to the process, to its parents or to the system what OCTET_TEST_ROGUE says: a list of
 * "moment:behavior", where the moment is load, entry, infer, create, run or destroy. Nothing here is sent to processes that are not this
 * one's ancestors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "octet/plugin.h"

static const char kForged[] = "+passed\n{\"passed\": true, \"findings\": []}\n";

static void sleep_forever(void) {
  for (;;) pause();
}

static void closes_descriptors(void) {
  for (int fd = 0; fd < 1024; ++fd) close(fd);
}

static void forks(void) {
  if (fork() == 0) sleep_forever();
}

static void forks_twice(void) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) sleep_forever();
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static void forks_under_a_reaper(void) {
  if (fork() != 0) return;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, 0);
  setsid();
  forks_twice();
  sleep_forever();
}

static void forks_many(void) {
  for (int i = 0; i < 300; ++i) forks();
  sleep_forever();
}

static void forges(void) {
  char path[64];
  for (int fd = 0; fd < 1024; ++fd) {
    if (write(fd, kForged, sizeof kForged - 1) < 0) continue;
  }
  for (int fd = 0; fd < 64; ++fd) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getppid(), fd);
    const int theirs = open(path, O_WRONLY | O_NONBLOCK);
    if (theirs >= 0 && write(theirs, kForged, sizeof kForged - 1) < 0) continue;
  }
}

/* Whatever is shared with another process says "passed", as far as this one can guess how. */
static void forges_in_memory(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin = 0, end = 0;
    char rights[5] = "";
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 || strcmp(rights, "rw-s") != 0)
      continue;
    unsigned* words = (unsigned*)begin;
    words[0] = 1;
    memcpy(words + 4, "12 cases", 8);
    words[2] = 8;
    words[3] = 0;
  }
  _exit(0);
}

/* Those of crashes apart: to take them is found by another check. */
static void blocks_signals(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (int i = 1; i < NSIG; ++i) {
    if (i != SIGSEGV && i != SIGBUS && i != SIGFPE && i != SIGILL) signal(i, SIG_IGN);
  }
}

static pid_t parent_of(pid_t pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return 0;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  const char* end = n > 0 ? strrchr(text, ')') : NULL;
  int parent = 0;
  if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1) return 0;
  return parent;
}

static void signals_ancestors(int number) {
  const pid_t keeper = getppid(), caller = parent_of(keeper);
  kill(keeper, number);
  kill(-keeper, number);
  if (caller > 1) kill(caller, number);
  sigqueue(keeper, number, (union sigval){0});
  if (caller > 1) sigqueue(caller, number, (union sigval){0});
}

static void kills_ancestors(void) { signals_ancestors(SIGKILL); }
static void stops_ancestors(void) { signals_ancestors(SIGSTOP); }
static void ends_ancestors(void) { signals_ancestors(SIGTERM); }
static void kills_its_group(void) { kill(0, SIGKILL); }
static void stops_itself(void) { raise(SIGSTOP); }

/* Never their last processor second: one that has none. */
static void limits_ancestors(void) {
  const struct rlimit none = {0, 0};
  prlimit(getppid(), RLIMIT_CPU, &none, NULL);
  const pid_t caller = parent_of(getppid());
  if (caller > 1) prlimit(caller, RLIMIT_CPU, &none, NULL);
}

static void traces_ancestors(void) {
  const pid_t ancestors[] = {getppid(), parent_of(getppid())};
  for (int i = 0; i < 2; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)ancestors[i]);
    if (ptrace(PTRACE_SEIZE, ancestors[i], NULL, NULL) == 0 || open(path, O_RDWR) >= 0)
      kill(getpid(), SIGKILL);
  }
}

static void takes_memory(void) {
  for (;;) {
    char* memory = malloc(1 << 20);
    if (memory != NULL) memset(memory, 1, 1 << 20);
  }
}

static void takes_shared_memory(void) {
  for (;;) {
    char* memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) memset(memory, 1, 1 << 20);
  }
}

static void spins(void) {
  for (volatile int forever = 1; forever != 0;) {
  }
}

static void* spin_thread(void* nothing) {
  spins();
  return nothing;
}

static void spins_in_threads(void) {
  pthread_t thread;
  for (int i = 0; i < 3; ++i) pthread_create(&thread, NULL, spin_thread, NULL);
  spins();
}

static void fills_output(void) {
  char text[4096];
  memset(text, 'x', sizeof text);
  for (int i = 0; i < 20000; ++i) {
    if (write(1, text, sizeof text) < 0 || write(2, text, sizeof text) < 0) return;
  }
}

static void fills_a_file(void) {
  char path[] = "/tmp/octet_rogueXXXXXX";
  const int fd = mkstemp(path);
  unlink(path);
  if (pwrite(fd, path, 1, (off_t)1 << 40) < 0) _exit(3);
}

static void opens_files(void) {
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
}

static void exits(void) { exit(0); }
static void exits_at_once(void) { _exit(0); }
static void aborts(void) { abort(); }
static void never_returns(void) { sleep_forever(); }

static const struct {
  const char* name;
  void (*act)(void);
} kBehaviors[] = {{"closes_descriptors", closes_descriptors},
                  {"forks", forks},
                  {"forks_twice", forks_twice},
                  {"forks_under_a_reaper", forks_under_a_reaper},
                  {"forks_many", forks_many},
                  {"forges", forges},
                  {"forges_in_memory", forges_in_memory},
                  {"blocks_signals", blocks_signals},
                  {"kills_ancestors", kills_ancestors},
                  {"stops_ancestors", stops_ancestors},
                  {"ends_ancestors", ends_ancestors},
                  {"kills_its_group", kills_its_group},
                  {"stops_itself", stops_itself},
                  {"limits_ancestors", limits_ancestors},
                  {"traces_ancestors", traces_ancestors},
                  {"takes_memory", takes_memory},
                  {"takes_shared_memory", takes_shared_memory},
                  {"spins", spins},
                  {"spins_in_threads", spins_in_threads},
                  {"fills_output", fills_output},
                  {"fills_a_file", fills_a_file},
                  {"opens_files", opens_files},
                  {"exits", exits},
                  {"exits_at_once", exits_at_once},
                  {"aborts", aborts},
                  {"never_returns", never_returns}};

/* At the first call of the moment in a process. */
static void come_to(const char* moment) {
  static char done[512];
  char list[1024], *rest = NULL;
  if (getenv("OCTET_TEST_ROGUE") == NULL || strstr(done, moment) != NULL) return;
  strncat(done, moment, sizeof done - strlen(done) - 1);
  snprintf(list, sizeof list, "%s", getenv("OCTET_TEST_ROGUE"));
  for (char* word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
    const size_t length = strlen(moment);
    if (strncmp(word, moment, length) != 0 || word[length] != ':') continue;
    for (size_t i = 0; i < sizeof kBehaviors / sizeof kBehaviors[0]; ++i) {
      if (strcmp(word + length + 1, kBehaviors[i].name) == 0) kBehaviors[i].act();
    }
  }
}

__attribute__((constructor)) static void load(void) { come_to("load"); }

static int32_t infer(octet_plugin_call* call) {
  come_to("infer");
  call->outputs[0].rank = call->inputs[0].rank;
  memcpy(call->outputs[0].dims, call->inputs[0].dims, sizeof call->inputs[0].dims);
  return OCTET_PLUGIN_OK;
}

static int32_t create(octet_plugin_creation* creation) {
  come_to("create");
  creation->instance = malloc(1);
  return OCTET_PLUGIN_OK;
}

static void destroy(const octet_plugin_operator* op, void* instance) {
  (void)op;
  come_to("destroy");
  free(instance);
}

static int32_t run(octet_plugin_call* call) {
  come_to("run");
  int64_t count = 1;
  for (int i = 0; i < call->inputs[0].rank; ++i) count *= call->inputs[0].dims[i];
  const float* x = call->inputs[0].data;
  float* y = call->outputs[0].data;
  for (int64_t i = 0; i < count; ++i) y[i] = x[i];
  return OCTET_PLUGIN_OK;
}

static const octet_plugin_port kX = {.size = sizeof kX, .name = "x", .min_rank = 1, .max_rank = 2},
                               kY = {.size = sizeof kY, .name = "y", .min_rank = 1, .max_rank = 2};
static const octet_plugin_format kReal = {.size = sizeof kReal, .type = OCTET_TYPE_F32};
static const octet_plugin_combination kCombination = {
    .size = sizeof kCombination, .name = "reals", .inputs = &kReal, .outputs = &kReal, .run = run};
static const int32_t kRank = 1;
static const int64_t kDim = 7;
static const octet_plugin_case kCase = {
    .size = sizeof kCase, .input_count = 1, .ranks = &kRank, .dims = &kDim};
static const octet_plugin_operator kOperator = {.size = sizeof kOperator,
                                                .name = "Copy",
                                                .domain = "org.rogue",
                                                .version = 1,
                                                .input_count = 1,
                                                .inputs = &kX,
                                                .output_count = 1,
                                                .outputs = &kY,
                                                .combination_count = 1,
                                                .combinations = &kCombination,
                                                .case_count = 1,
                                                .cases = &kCase,
                                                .infer = infer,
                                                .create = create,
                                                .destroy = destroy};
static const octet_plugin_operator* const kOperators[] = {&kOperator};
static const octet_plugin kPlugin = {.size = sizeof kPlugin,
                                     .abi = OCTET_PLUGIN_ABI,
                                     .name = "rogue",
                                     .version = "1.0",
                                     .operator_count = 1,
                                     .operators = kOperators};

const octet_plugin* octet_plugin_entry(const octet_plugin_host* host) {
  (void)host;
  come_to("entry");
  return &kPlugin;
}
