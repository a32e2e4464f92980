// SPDX-License-Identifier: Apache-2.0
#include "octet/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/start_thread.h"

namespace octet {
namespace {

enum class Gate { closed, open, cancelled };

// Threads that wait until all are there.
class Together {
 public:
  Together(int count, const std::function<void(int)>& body)
      : body_(body), errors_(static_cast<size_t>(count)) {
    threads_.reserve(static_cast<size_t>(count));
  }
  ~Together() { end(Gate::cancelled); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  void run() {
    const int others = static_cast<int>(std::ssize(errors_)) - 1;
    for (int i = 0; i < others; ++i)
      threads_.push_back(start_thread([this, i] { wait_and_call(i + 1); }, i, others));
    open(Gate::open);
    call(0);
    end(Gate::open);
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
  }

 private:
  void call(int i) noexcept {
    try {
      body_(i);
    } catch (...) {
      errors_[static_cast<size_t>(i)] = std::current_exception();
    }
  }

  void wait_and_call(int i) noexcept {
    gate_.wait(Gate::closed);
    if (gate_ == Gate::open) call(i);
  }

  void open(Gate state) {
    gate_ = state;
    gate_.notify_all();
  }

  void end(Gate state) {
    open(state);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const std::function<void(int)>& body_;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
  std::atomic<Gate> gate_{Gate::closed};
};

}  // namespace

std::thread start_thread(std::function<void()> body, int started, int wanted) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    fail_about("ContextOptions.threads", Error::Code::out_of_memory,
               "the system starts no more threads: {} of {} are there ({})", started, wanted,
               error.code().message());
  }
}

void run_threads(int count, const std::function<void(int)>& body) {
  if (count > 0) Together(count, body).run();
}

}  // namespace octet
