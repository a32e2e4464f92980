// SPDX-License-Identifier: Apache-2.0
#include "inspect/compare/onnxruntime_channel.h"

#include <bit>
#include <cstring>

#include "core/bounded_json.h"
#include "core/check.h"
#include "data/npy.h"
#include "inspect/compare/onnxruntime_script.h"
#include "octet/limits.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr u64 kMostWords = 16 << 20;
constexpr int kMostDepth = 8;
constexpr s64 kMostBytes = s64{1} << 60;
constexpr const char* kExpected = "an answer of the script that runs ONNX Runtime";

static_assert(std::endian::native == std::endian::little, "lengths are sent as they lie");

std::span<const u8> bytes_of(const u64& value) {
  return {reinterpret_cast<const u8*>(&value), sizeof value};
}

std::span<const u8> bytes_of(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

// Time apart, which is each answer's.
ChildLimits script_limits() {
  return {.memory = static_cast<s64>(limits().memory), .processes = 256, .open_files = 4096};
}

}  // namespace

OnnxRuntimeChannel::OnnxRuntimeChannel(const std::string& python, double seconds)
    : child_({python, "-c", kOnnxRuntimeScript}, script_limits()),
      name_(python),
      seconds_(seconds) {}

ChildProcess::Deadline OnnxRuntimeChannel::deadline() const {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds_));
}

void OnnxRuntimeChannel::send(Json words, std::span<const Tensor> arrays) {
  std::vector<Tensor> sent;
  std::vector<std::vector<u8>> heads;
  Json lengths = Json::array();
  for (const Tensor& array : arrays) {
    sent.push_back(numpy_compatible(array));
    heads.push_back(encode_npy_header(sent.back().type()));
    lengths.push_back(heads.back().size() + sent.back().bytes());
  }
  words["arrays"] = std::move(lengths);
  const std::string text = words.dump(-1, ' ', false, Json::error_handler_t::replace);
  const u64 length = text.size();
  const ChildProcess::Deadline end = deadline();
  child_.write(bytes_of(length), end);
  child_.write(bytes_of(text), end);
  for (size_t i = 0; i < sent.size(); ++i) {
    child_.write(heads[i], end);
    child_.write({reinterpret_cast<const u8*>(sent[i].data()), sent[i].bytes()}, end);
  }
}

OnnxRuntimeChannel::Message OnnxRuntimeChannel::receive() {
  const ChildProcess::Deadline end = deadline();
  u64 length = 0;
  child_.read({reinterpret_cast<u8*>(&length), sizeof length}, end);
  if (length > kMostWords)
    fail(Error::Code::invalid_argument, "'{}' announces {} bytes; expected {}", name_, length,
         kExpected);
  std::string text(length, '\0');
  child_.read({reinterpret_cast<u8*>(text.data()), text.size()}, end);
  Message message;
  message.words = parse_bounded_json(text, name_, kMostDepth).value;
  const JsonFields fields{message.words, name_, kExpected};
  fields.check_object();
  for (const Json& size : fields.list("arrays")) {
    const JsonFields one{Json{{"bytes", size}}, name_, kExpected};
    const auto bytes = static_cast<u64>(one.integer("bytes", 0, kMostBytes));
    u64 left = bytes;
    const auto source = [&](std::span<u8> dst) {
      if (dst.size() > left) fields.wrong("an array of {} bytes ends too early", bytes);
      child_.read(dst, end);
      left -= dst.size();
    };
    message.arrays.push_back(read_npy_stream(source, bytes, name_ + ": array"));
    if (left > 0) fields.wrong("an array is longer than its header says");
  }
  if (message.words.contains("error"))
    fail(Error::Code::invalid_argument, "ONNX Runtime: {}", fields.text("error"));
  return message;
}

}  // namespace octet
