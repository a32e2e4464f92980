// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

namespace octet::faults {
namespace {

// Plain thread-local numbers: reading them allocates nothing.
thread_local bool armed = false;
thread_local Kind kind = Kind::allocation;
thread_local long left = 0;
thread_local bool reached = false;

// Counts a call of any of the kinds given by `of`; true for the one that is to fail.
bool fails(bool of) {
  if (!armed || !of || reached || --left > 0) return false;
  reached = true;
  return true;
}

bool fails(Kind which) { return fails(kind == which); }

}  // namespace

void arm(Kind what, long n) {
  kind = what;
  left = n;
  reached = false;
  armed = true;
}

bool disarm() {
  armed = false;
  return reached;
}

namespace {

void* allocate(size_t bytes) noexcept {
  return fails(Kind::allocation) ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void* aligned(size_t alignment, size_t bytes) noexcept {
  void* memory = nullptr;
  if (fails(Kind::allocation) || ::posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  return memory;
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// What a reading call gives instead of `asked` bytes; -1: an error.
ssize_t reduced(size_t asked, bool reads) {
  const bool short_one = fails(kind == Kind::short_call && asked > 1);
  if (short_one) return static_cast<ssize_t>(asked) - 1;
  if (reads && fails(Kind::early_end)) return 0;
  if (fails(Kind::error)) {
    errno = EIO;
    return -1;
  }
  return static_cast<ssize_t>(asked);
}

}  // namespace
}  // namespace octet::faults

using namespace octet::faults;

void* operator new(size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new[](size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new(size_t bytes, std::align_val_t at) {
  return or_throw(aligned(static_cast<size_t>(at), bytes));
}
void* operator new[](size_t bytes, std::align_val_t at) {
  return or_throw(aligned(static_cast<size_t>(at), bytes));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

// The program's own definitions come before those of the C library.
extern "C" {

// protobuf and oneDNN do not clean up behind an exception of operator new; what we lose ourselves is still reported.
const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
  return "leak:libdnnl\nleak:google::protobuf\nleak:octet_onnx::\n";
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return aligned(alignment, bytes); }

ssize_t read(int fd, void* to, size_t bytes) {
  const ssize_t n = reduced(bytes, true);
  return n <= 0 && bytes > 0 ? n : ::syscall(SYS_read, fd, to, n);
}

ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  const ssize_t n = reduced(bytes, true);
  return n <= 0 && bytes > 0 ? n : ::syscall(SYS_pread64, fd, to, n, at);
}

ssize_t write(int fd, const void* from, size_t bytes) {
  const ssize_t n = reduced(bytes, false);
  return n <= 0 && bytes > 0 ? n : ::syscall(SYS_write, fd, from, n);
}

// Where a sanitizer has its own, that one, which then knows of the thread.
int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)
    __attribute__((weak));

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  if (fails(Kind::thread)) return EAGAIN;
  static const auto next = __interceptor_pthread_create != nullptr
                               ? &__interceptor_pthread_create
                               : reinterpret_cast<decltype(&__interceptor_pthread_create)>(
                                     ::dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, body, argument);
}

int fsync(int fd) {
  if (!fails(Kind::error)) return static_cast<int>(::syscall(SYS_fsync, fd));
  errno = EIO;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  if (!fails(Kind::error)) return static_cast<int>(::syscall(SYS_rename, from, to));
  errno = EIO;
  return -1;
}
}
