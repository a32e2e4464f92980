// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_reader.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "core/check.h"
#include "core/descriptor.h"
#include "core/sniff.h"
#include "octet/limits.h"
#include "onnx/wire.h"

namespace octet {
namespace {

constexpr s64 kMaxModelBytes = std::numeric_limits<s32>::max();

[[noreturn]] void fail_errno() {
  fail(Error::Code::io, "cannot read the file: {}", std::strerror(errno));
}

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& file) : file_(open_file(file, O_RDONLY)) {
    if (!file_) fail_errno();
  }

  s64 regular_size() const {
    struct stat status = {};
    if (::fstat(file_.get(), &status) != 0) fail_errno();
    if (S_ISDIR(status.st_mode))
      fail(Error::Code::io, "it is a folder; give the .onnx file inside");
    if (!S_ISREG(status.st_mode)) {
      fail(Error::Code::io, "it is not a regular file but {}", special_kind(status.st_mode));
    }
    return status.st_size;
  }

  void read(std::vector<std::byte>& bytes) const {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::read(file_.get(), bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_errno();
      if (got == 0) fail(Error::Code::io, "the file became shorter while it was read");
      done += static_cast<size_t>(got);
    }
  }

 private:
  Descriptor file_;
};

}  // namespace

s64 default_max_bytes() { return limits().memory; }

std::vector<std::byte> read_model_file(const std::filesystem::path& file, s64 max_bytes) {
  const OpenFile open(file);
  const s64 size = open.regular_size();
  if (size > kMaxModelBytes) {
    fail(Error::Code::invalid_model,
         "the file has {} bytes, ONNX files end at 2 GiB; save the model with external data", size);
  }
  if (size > max_bytes) {
    fail_about("Limits.memory", Error::Code::out_of_memory,
               "the file has {} bytes, the limit is {}", size, max_bytes);
  }
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  open.read(bytes);
  return bytes;
}

octet_onnx::ModelProto parse_model(std::span<const std::byte> bytes, s64 max_bytes) {
  if (bytes.empty()) fail(Error::Code::invalid_model, "the model is empty (0 bytes)");
  if (bytes.size() > static_cast<size_t>(kMaxModelBytes)) {
    fail(Error::Code::invalid_model, "the model has {} bytes, ONNX models end at 2 GiB",
         bytes.size());
  }
  if (const std::string_view foreign = sniff_foreign(bytes); !foreign.empty()) {
    fail(Error::Code::invalid_model, "not an ONNX model but {}", foreign);
  }
  const s64 needed = scan_model(bytes);
  if (needed > max_bytes) {
    fail_about("Limits.memory", Error::Code::out_of_memory,
               "reading the model needs about {} bytes, the limit is {}", needed, max_bytes);
  }
  octet_onnx::ModelProto model;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(static_cast<int>(kMaxModelBytes));
  coded.SetRecursionLimit(kMaxMessageDepth);
  if (!model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    fail(Error::Code::invalid_model,
         "truncated or corrupt protobuf before byte {} of {}; copy the file again",
         coded.CurrentPosition(), bytes.size());
  }
  return model;
}

}  // namespace octet
