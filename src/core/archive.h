// SPDX-License-Identifier: Apache-2.0
// Numbers one after another as they lie in memory, for what processes of one program hand to each other. A type lists its members once, for
// both directions: template <class Archive> void archive(Archive& a) { a(first_, second_); }.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/types.h"
#include "octet/error.h"

namespace octet {

template <class T, class Archive>
concept Archived = requires(T& value, Archive& archive) {
  value.archive(archive);
};

class ArchiveWriter {
 public:
  template <class... T>
  void operator()(T&... values) {
    (write(values), ...);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class T>
  void write(T& value) {
    if constexpr (Archived<T, ArchiveWriter>) {
      value.archive(*this);
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      append(&value, sizeof(T));
    }
  }
  template <class T>
  void write(std::vector<T>& values) {
    append_size(values.size());
    for (T& value : values) write(value);
  }
  void write(std::string& text) {
    append_size(text.size());
    append(text.data(), text.size());
  }
  void append_size(u64 size) { append(&size, sizeof(size)); }
  void append(const void* data, size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }

  std::vector<std::byte> bytes_;
};

// Throws Error(invalid_argument) where bytes are missing; what numbers may be is for the types to check.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (read(values), ...);
  }
  bool at_end() const { return left_.empty(); }

 private:
  template <class T>
  void read(T& value) {
    if constexpr (Archived<T, ArchiveReader>) {
      value.archive(*this);
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      take(&value, sizeof(T));
    }
  }
  // Whatever the elements are, each takes a byte or more.
  template <class T>
  void read(std::vector<T>& values) {
    values.clear();
    for (u64 left = size(); left > 0; --left) read(values.emplace_back());
  }
  void read(std::string& text) {
    text.resize(size());
    take(text.data(), text.size());
  }
  u64 size() {
    u64 size = 0;
    take(&size, sizeof(size));
    if (size > left_.size()) fail_short();
    return size;
  }
  void take(void* to, size_t size) {
    if (size > left_.size()) fail_short();
    if (size > 0) std::memcpy(to, left_.data(), size);
    left_ = left_.subspan(size);
  }
  [[noreturn]] static void fail_short() {
    throw Error(Error::Code::invalid_argument, "the bytes end too early");
  }

  std::span<const std::byte> left_;
};

}  // namespace octet
