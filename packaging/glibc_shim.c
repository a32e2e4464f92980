// SPDX-License-Identifier: Apache-2.0
// What g++ 12's libstdc++ and our code ask of a newer glibc than release builds are linked against (2.28), made of what that one has.
// Linked into every program and library of a release build, and visible to nothing outside of it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

// glibc 2.32: whether a reference count may be changed without an atomic instruction. Always atomic is always right.
HIDDEN char __libc_single_threaded = 0;

// glibc 2.36: random_device's source.
HIDDEN uint32_t arc4random(void) {
  uint32_t value;
  size_t done = 0;
  while (done < sizeof value) {
    const ssize_t got = getrandom((char*)&value + done, sizeof value - done, 0);
    if (got > 0) {
      done += (size_t)got;
    } else if (errno != EINTR) {
      abort();
    }
  }
  return value;
}

// What the glibc of this machine has itself, where it is new enough. RTLD_NEXT: another file than this one.
static int (*own_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
static int (*own_clocklock)(pthread_mutex_t*, clockid_t, const struct timespec*);
static struct mallinfo2 (*own_mallinfo2)(void);

__attribute__((constructor)) static void find_own(void) {
  *(void**)&own_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  *(void**)&own_clocklock = dlsym(RTLD_NEXT, "pthread_mutex_clocklock");
  *(void**)&own_mallinfo2 = dlsym(RTLD_NEXT, "mallinfo2");
}

// The time of day at which `clock` will show `until`. Who sets that clock meanwhile moves the end of the wait, which glibc 2.28 and 2.29 cannot
// avoid.
static int day_of(clockid_t clock, const struct timespec* until, struct timespec* day) {
  const int64_t second = 1000000000;
  struct timespec now;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, day) != 0) return EINVAL;
  int64_t left = (until->tv_sec - now.tv_sec) * second + (until->tv_nsec - now.tv_nsec);
  if (left < 0) left = 0;
  const int64_t nanoseconds = day->tv_nsec + left % second;
  day->tv_sec += left / second + nanoseconds / second;
  day->tv_nsec = nanoseconds % second;
  return 0;
}

// glibc 2.30: waits by a clock that is not the condition's own.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  if (own_clockwait != NULL) return own_clockwait(condition, mutex, clock, until);
  struct timespec day;
  const int status = day_of(clock, until, &day);
  return status != 0 ? status : pthread_cond_timedwait(condition, mutex, &day);
}

// glibc 2.30: likewise, for timed mutexes.
HIDDEN int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  if (own_clocklock != NULL) return own_clocklock(mutex, clock, until);
  struct timespec day;
  const int status = day_of(clock, until, &day);
  return status != 0 ? status : pthread_mutex_timedlock(mutex, &day);
}

// glibc 2.33: sizes beyond 2 GiB; before, what there is of them.
HIDDEN struct mallinfo2 mallinfo2(void) {
  if (own_mallinfo2 != NULL) return own_mallinfo2();
  const struct mallinfo old = mallinfo();
  return (struct mallinfo2){.arena = (unsigned)old.arena,
                            .ordblks = (unsigned)old.ordblks,
                            .smblks = (unsigned)old.smblks,
                            .hblks = (unsigned)old.hblks,
                            .hblkhd = (unsigned)old.hblkhd,
                            .usmblks = (unsigned)old.usmblks,
                            .fsmblks = (unsigned)old.fsmblks,
                            .uordblks = (unsigned)old.uordblks,
                            .fordblks = (unsigned)old.fordblks,
                            .keepcost = (unsigned)old.keepcost};
}
