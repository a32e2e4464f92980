// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace octet::triton {
namespace {

struct Sent {
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t* dims = nullptr;
  uint32_t rank = 0;
  uint64_t bytes = 0;
  uint32_t buffers = 0;

  std::vector<int64_t> shape() const { return {dims, dims + rank}; }
};

[[noreturn]] void refuse(const TensorInfo& info, const std::string& expected,
                         const std::string& got) {
  throw Error(Error::Code::invalid_argument,
              fmt::format("input '{}' expects {}, got {}", info.name, expected, got));
}

bool fits(std::span<const int64_t> sent, const Signature& signature, const Shape& own) {
  if (own.is_unknown()) return sent.size() <= size_t{Shape::kMaxRank};
  if (std::ssize(sent) != own.rank()) return false;
  for (size_t i = 0; i < sent.size(); ++i) {
    const int64_t wanted = own[static_cast<int>(i)];
    const bool batch = i == 0 && signature.batched();
    if (sent[i] < (batch ? 1 : 0)) return false;
    if (!batch && wanted != Shape::kDynamic && wanted != sent[i]) return false;
  }
  return true;
}

void check_sent(const Signature& signature, const TensorInfo& info, const Sent& sent) {
  const TRITONSERVER_DataType type = server_type(info.type.dtype);
  if (sent.type != type) refuse(info, type_name(type), type_name(sent.type));
  const std::vector<int64_t> dims = sent.shape();
  if (!fits(dims, signature, info.type.shape))
    refuse(info, "the shape " + text_of(info.type.shape.dims()), text_of(dims));
  const TensorType whole{info.type.dtype, Shape(std::span(dims))};
  if (static_cast<uint64_t>(whole.bytes()) != sent.bytes)
    refuse(info, fmt::format("{} bytes for the shape {}", whole.bytes(), text_of(dims)),
           std::to_string(sent.bytes));
}

}  // namespace

template <class Object>
Request::Buffer Request::buffer_from(TRITONSERVER_Error* (*get)(Object*, void**, uint64_t,
                                                                TRITONSERVER_MemoryType*, int64_t*),
                                     Object* of, const TensorType& type, int near) {
  const auto bytes = static_cast<uint64_t>(type.bytes());
  void* data = nullptr;
  TRITONSERVER_MemoryType where =
      near == kHostMemory ? TRITONSERVER_MEMORY_CPU : TRITONSERVER_MEMORY_GPU;
  int64_t id = std::max(near, 0);
  check(get(of, &data, bytes, &where, &id));
  return {static_cast<std::byte*>(data), bytes, memory_owner(where, id)};
}

uint64_t now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

Request::Request(Request&& other) noexcept
    : instance_(other.instance_),
      request_(std::exchange(other.request_, nullptr)),
      response_(std::exchange(other.response_, nullptr)),
      signature_(other.signature_),
      rows_(other.rows_),
      sample_(std::move(other.sample_)),
      inputs_(std::move(other.inputs_)),
      wanted_(std::move(other.wanted_)),
      made_(std::move(other.made_)),
      outputs_(std::move(other.outputs_)),
      kept_(std::move(other.kept_)) {}

Request::~Request() {
  if (!open()) return;
  const uint64_t time = now();
  finish(TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the request was not answered"),
         {time, time, time});
}

void Request::read(const Signature& signature) {
  signature_ = &signature;
  check(TRITONBACKEND_ResponseNew(&response_, request_));
  bool cancelled = false;
  check(TRITONBACKEND_RequestIsCancelled(request_, &cancelled));
  if (cancelled) throw Error(Error::Code::cancelled, "the request was cancelled");
  inputs_.resize(signature.inputs.size());
  sample_.resize(signature.inputs.size());
  for (size_t i = 0; i < signature.inputs.size(); ++i) read_input(signature, i);
  if (!signature.batched()) rows_ = 1;
  read_wanted(signature);
}

void Request::read_input(const Signature& signature, size_t i) {
  const TensorInfo& info = signature.inputs[i];
  TRITONBACKEND_Input* input = nullptr;
  check(TRITONBACKEND_RequestInput(request_, info.name.c_str(), &input));
  Sent sent;
  check(TRITONBACKEND_InputProperties(input, nullptr, &sent.type, &sent.dims, &sent.rank,
                                      &sent.bytes, &sent.buffers));
  check_sent(signature, info, sent);
  std::span<const int64_t> dims(sent.dims, sent.rank);
  if (signature.batched()) {
    if (i > 0 && dims[0] != rows_)
      refuse(info, fmt::format("a batch of {}, as the inputs before it", rows_),
             std::to_string(dims[0]));
    rows_ = dims[0];
    dims = dims.subspan(1);
  }
  sample_[i] = Shape(dims);
  inputs_[i] = buffers_of(input, sent.buffers);
  uint64_t held = 0;
  for (const Buffer& buffer : inputs_[i]) held += buffer.bytes;
  if (held != sent.bytes)
    refuse(info, fmt::format("{} bytes", sent.bytes), fmt::format("{} in its buffers", held));
}

std::vector<Request::Buffer> Request::buffers_of(TRITONBACKEND_Input* input, uint32_t count) const {
  std::vector<Buffer> buffers;
  for (uint32_t i = 0; i < count; ++i) {
    const void* data = nullptr;
    uint64_t bytes = 0;
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    int64_t id = 0;
    check(TRITONBACKEND_InputBuffer(input, i, &data, &bytes, &type, &id));
    if (data == nullptr && bytes > 0)
      throw Error(Error::Code::invalid_argument, "an input has a buffer without memory");
    buffers.push_back(
        {static_cast<std::byte*>(const_cast<void*>(data)), bytes, memory_owner(type, id)});
  }
  return buffers;
}

void Request::read_wanted(const Signature& signature) {
  wanted_.assign(signature.outputs.size(), nullptr);
  made_.assign(signature.outputs.size(), nullptr);
  outputs_.resize(signature.outputs.size());
  uint32_t count = 0;
  check(TRITONBACKEND_RequestOutputCount(request_, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    check(TRITONBACKEND_RequestOutputName(request_, i, &name));
    const auto at = std::ranges::find(signature.outputs, name, &TensorInfo::name);
    if (at == signature.outputs.end())
      throw Error(Error::Code::invalid_argument, fmt::format("there is no output '{}'", name));
    wanted_[static_cast<size_t>(at - signature.outputs.begin())] = at->name.c_str();
  }
}

void Request::gather(std::vector<Pieces>& inputs) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    for (const Buffer& buffer : inputs_[i]) inputs[i].add(buffer.data, buffer.bytes, buffer.owner);
  }
}

void Request::place_output(const TensorType& type, size_t i, int near, Pieces& outputs) {
  const bool keeps = signature_->states[i];
  if (wanted_[i] == nullptr && !keeps) return outputs.skip(static_cast<uint64_t>(type.bytes()));
  if (outputs_[i].empty()) {
    // What fails from here on is tried again, and the response has the output by then.
    outputs_[i].reserve(1);
    kept_.reserve(kept_.size() + 1);
    Kept kept{nullptr, i, type};
    outputs_[i].push_back(wanted_[i] != nullptr ? response_buffer(type, i, near)
                                                : state_buffer(kept, near));
    if (keeps) kept_.push_back(kept);
  }
  const Buffer& placed = outputs_[i].front();
  outputs.add(placed.data, placed.bytes, placed.owner);
}

Request::Buffer Request::response_buffer(const TensorType& type, size_t i, int near) {
  if (made_[i] == nullptr)
    check(TRITONBACKEND_ResponseOutput(response_, &made_[i], wanted_[i], server_type(type.dtype),
                                       type.shape.begin(),
                                       static_cast<uint32_t>(type.shape.rank())));
  return buffer_from(TRITONBACKEND_OutputBuffer, made_[i], type, near);
}

Request::Buffer Request::state_buffer(Kept& kept, int near) const {
  const TensorType& type = kept.type;
  check(TRITONBACKEND_StateNew(&kept.state, request_, signature_->outputs[kept.output].name.c_str(),
                               server_type(type.dtype), type.shape.begin(),
                               static_cast<uint32_t>(type.shape.rank())));
  return buffer_from(TRITONBACKEND_StateBuffer, kept.state, type, near);
}

// A state that is an answer as well is written there, and copied.
void Request::keep_states() {
  for (Kept& kept : kept_) {
    if (kept.state == nullptr) {
      const Buffer& answer = outputs_[kept.output].front();
      const Buffer own = state_buffer(kept, answer.owner);
      Pieces from;
      from.add(answer.data, answer.bytes, answer.owner);
      from.read(0, answer.bytes, own.data, own.owner);
    }
    check(TRITONBACKEND_StateUpdate(kept.state));
  }
}

// The error stays ours, the request becomes the server's.
void Request::finish(TRITONSERVER_Error* error, const Times& times) {
  const bool success = error == nullptr;
  if (response_ == nullptr) ignore(TRITONBACKEND_ResponseNew(&response_, request_));
  if (response_ != nullptr)
    ignore(TRITONBACKEND_ResponseSend(response_, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
  ignore(error);
  ignore(TRITONBACKEND_ModelInstanceReportStatistics(
      instance_, request_, success, times.start, times.compute_start, times.compute_end, now()));
  ignore(TRITONBACKEND_RequestRelease(request_, TRITONSERVER_REQUEST_RELEASE_ALL));
  response_ = nullptr;
  request_ = nullptr;
}

}  // namespace octet::triton
