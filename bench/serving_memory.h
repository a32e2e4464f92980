// SPDX-License-Identifier: Apache-2.0
// Memory that a server of the Open Inference Protocol reads and writes: the system's shared memory, or a GPU's.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serving_connection.h"

class Memory {
 public:
  Memory() = default;
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  virtual const char* kind() const = 0;                     // in the paths of requests
  virtual nlohmann::ordered_json registration() const = 0;  // what a server is told of it
  virtual void write(const std::vector<char>& bytes) = 0;   // to its beginning
  virtual bool equals(size_t at, const std::vector<char>& wanted) = 0;
  // Changes bytes there, so that an answer which writes nothing is found. Memory that this process does not reach stays as it is.
  virtual void spoil(size_t, size_t) {}
};

// Shared memory of this process, which has no name any more once it is destroyed.
class SharedMemory final : public Memory {
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
  ~SharedMemory() override {
    ::munmap(data_, bytes_);
    ::shm_unlink(key_.c_str());
  }

  const char* kind() const override { return "systemsharedmemory"; }
  nlohmann::ordered_json registration() const override {
    return {{"key", key_}, {"offset", 0}, {"byte_size", bytes_}};
  }
  void write(const std::vector<char>& bytes) override {
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  bool equals(size_t at, const std::vector<char>& wanted) override {
    return std::memcmp(data_ + at, wanted.data(), wanted.size()) == 0;
  }
  void spoil(size_t at, size_t bytes) override {
    for (size_t i = 0; i < bytes; i += kPage) data_[at + i] = static_cast<char>(~data_[at + i]);
  }

 private:
  static constexpr size_t kPage = 4096;

  std::string key_;
  size_t bytes_;
  char* data_ = nullptr;
};

// Memory of a GPU, which the server opens by its handle. CUDA's driver is loaded by its name; its memory ends with the process.
class GpuMemory final : public Memory {
 public:
  GpuMemory(int device, size_t bytes)
      : device_(device), bytes_((bytes + kOwnBlock - 1) / kOwnBlock * kOwnBlock) {
    driver_ = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver_ == nullptr) give_up(fmt::format("no driver of CUDA: {}", ::dlerror()));
    int handle = 0;
    void* context = nullptr;
    call("cuInit", 0U);
    call("cuDeviceGet", &handle, device);
    call("cuDevicePrimaryCtxRetain", &context, handle);
    call("cuCtxSetCurrent", context);
    call("cuMemAlloc_v2", &data_, bytes_);
    call("cuIpcGetMemHandle", handle_.data(), data_);
  }

  const char* kind() const override { return "cudasharedmemory"; }
  nlohmann::ordered_json registration() const override {
    const nlohmann::ordered_json handle = {{"b64", base64()}};
    return {{"raw_handle", handle}, {"device_id", device_}, {"byte_size", bytes_}};
  }
  void write(const std::vector<char>& bytes) override {
    call("cuMemcpyHtoD_v2", data_, static_cast<const void*>(bytes.data()), bytes.size());
  }
  bool equals(size_t at, const std::vector<char>& wanted) override {
    read_.resize(wanted.size());
    call("cuMemcpyDtoH_v2", static_cast<void*>(read_.data()), data_ + at, read_.size());
    return read_ == wanted;
  }

 private:
  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(driver_, name));
    const int error = function == nullptr ? -1 : function(arguments...);
    if (error != 0) give_up(fmt::format("{}: error {}", name, error));
  }

  std::string base64() const {
    static constexpr char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (size_t i = 0; i < handle_.size(); i += 3) {
      const size_t left = std::min<size_t>(3, handle_.size() - i);
      uint32_t bits = 0;
      for (size_t j = 0; j < 3; ++j)
        bits = bits << 8 | (j < left ? static_cast<unsigned char>(handle_[i + j]) : 0U);
      for (size_t j = 0; j < 4; ++j) text += j <= left ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
    }
    return text;
  }

  // The driver cuts smaller ones out of blocks that they share, whose handle is the block's.
  static constexpr size_t kOwnBlock = 2 << 20;

  int device_;
  size_t bytes_;
  void* driver_ = nullptr;
  unsigned long long data_ = 0;    // CUdeviceptr
  std::array<char, 64> handle_{};  // CUipcMemHandle
  std::vector<char> read_;
};

// Memory that the server knows by its name until it is destroyed.
class Region {
 public:
  Region(int port, std::unique_ptr<Memory> memory, std::string name)
      : control_(port), name_(std::move(name)), memory_(std::move(memory)) {
    ask(control_, request_text(path("register"), memory_->registration().dump()));
  }
  // A request keeps the memory for a moment after its answer has come: until then the server refuses.
  ~Region() {
    for (int tries = kMostTries; tries-- > 0; std::this_thread::sleep_for(kPause)) {
      try {
        ask(control_, request_text(path("unregister"), "{}"));
        return;
      } catch (const std::exception& error) {
        if (tries == 0) fmt::print(stderr, "warning: {}\n", error.what());
      }
    }
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const std::string& name() const { return name_; }
  Memory& memory() { return *memory_; }

 private:
  static constexpr int kMostTries = 250;
  static constexpr std::chrono::milliseconds kPause{20};

  std::string path(const char* what) const {
    return fmt::format("/v2/{}/region/{}/{}", memory_->kind(), name_, what);
  }

  Connection control_;
  std::string name_;
  std::unique_ptr<Memory> memory_;
};
