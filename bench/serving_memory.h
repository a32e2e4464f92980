// SPDX-License-Identifier: Apache-2.0
// System shared memory that a server of the Open Inference Protocol reads and writes.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "serving_connection.h"

// Shared memory of this process, which has no name any more once it is destroyed.
class SharedMemory {
 public:
  SharedMemory(std::string key, size_t bytes) : key_(std::move(key)), bytes_(bytes) {
    const int file = ::shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0) give_up(fmt::format("shared memory {}: {}", key_, std::strerror(errno)));
    void* at = MAP_FAILED;
    if (::ftruncate(file, static_cast<off_t>(bytes)) == 0)
      at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = errno;
    ::close(file);
    if (at == MAP_FAILED) {
      ::shm_unlink(key_.c_str());
      give_up(fmt::format("shared memory of {} bytes: {}", bytes, std::strerror(error)));
    }
    data_ = static_cast<char*>(at);
  }
  ~SharedMemory() {
    ::munmap(data_, bytes_);
    ::shm_unlink(key_.c_str());
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const std::string& key() const { return key_; }
  char* data() const { return data_; }

 private:
  std::string key_;
  size_t bytes_;
  char* data_ = nullptr;
};

// Shared memory that the server knows by its name until it is destroyed.
class Region {
 public:
  Region(int port, size_t bytes)
      : control_(port),
        name_(fmt::format("octet-load-{}", ::getpid())),
        memory_("/" + name_, bytes) {
    const nlohmann::ordered_json body = {
        {"key", memory_.key()}, {"offset", 0}, {"byte_size", bytes}};
    ask(control_, request_text(path("register"), body.dump()));
  }
  ~Region() {
    try {
      ask(control_, request_text(path("unregister"), "{}"));
    } catch (const std::exception& error) {
      fmt::print(stderr, "warning: {}\n", error.what());
    }
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const std::string& name() const { return name_; }
  char* data() const { return memory_.data(); }

 private:
  std::string path(const char* what) const {
    return fmt::format("/v2/systemsharedmemory/region/{}/{}", name_, what);
  }

  Connection control_;
  std::string name_;
  SharedMemory memory_;
};
