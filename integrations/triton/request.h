// SPDX-License-Identifier: Apache-2.0
// A request and its answer. Whatever happens, it is answered once and released once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "failure.h"
#include "pieces.h"
#include "settings.h"
#include "signature.h"

namespace octet::triton {

// Steady clock, in nanoseconds, as the server's statistics have it.
uint64_t now();

// Of one execution.
struct Times {
  uint64_t start = 0, compute_start = 0, compute_end = 0;
};

class Request {
 public:
  Request(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request)
      : instance_(instance), request_(request) {}
  // One that nobody finished ends with an internal error.
  ~Request();
  Request(Request&& other) noexcept;
  Request& operator=(Request&&) = delete;

  // Reads what was sent; throws Error(invalid_argument) naming the input that does not fit, Error(cancelled).
  void read(const Signature& signature);

  int64_t rows() const { return rows_; }  // 1 where requests carry whole shapes
  const SampleShapes& sample() const { return sample_; }

  // Adds its inputs to those of the batch.
  void gather(std::vector<Pieces>& inputs) const;
  // Takes memory for output `i`, once, and adds it to the batch's, or what nobody asked for as a gap; `near`: whose memory is wanted.
  void place_output(const TensorType& type, size_t i, int near, Pieces& outputs);

  // Hands the server what it keeps of a run that has succeeded.
  void keep_states();

  bool open() const { return request_ != nullptr; }
  void succeed(const Times& times) { finish(nullptr, times); }
  // `error` becomes ours.
  void fail(TRITONSERVER_Error* error, const Times& times) { finish(error, times); }

 private:
  struct Buffer {
    std::byte* data;
    uint64_t bytes;
    int owner;
  };

  // An output that is a state of the sequence; no state yet where it is an answer as well.
  struct Kept {
    TRITONBACKEND_State* state;
    size_t output;
    TensorType type;
  };

  void read_input(const Signature& signature, size_t i);
  std::vector<Buffer> buffers_of(TRITONBACKEND_Input* input, uint32_t count) const;
  void read_wanted(const Signature& signature);
  // Of the server's, in the memory of `near` if it has any there.
  template <class Object>
  static Buffer buffer_from(TRITONSERVER_Error* (*get)(Object*, void**, uint64_t,
                                                       TRITONSERVER_MemoryType*, int64_t*),
                            Object* of, const TensorType& type, int near);
  Buffer response_buffer(const TensorType& type, size_t i, int near);
  Buffer state_buffer(Kept& kept, int near) const;
  void finish(TRITONSERVER_Error* error, const Times& times);

  TRITONBACKEND_ModelInstance* instance_;
  TRITONBACKEND_Request* request_;
  TRITONBACKEND_Response* response_ = nullptr;
  const Signature* signature_ = nullptr;  // that it was read by
  int64_t rows_ = 0;
  SampleShapes sample_;
  std::vector<std::vector<Buffer>> inputs_;
  // By the engine's order of outputs; no name where nobody asked.
  std::vector<const char*> wanted_;
  std::vector<TRITONBACKEND_Output*> made_;   // of the response, once each
  std::vector<std::vector<Buffer>> outputs_;  // none yet, or one
  std::vector<Kept> kept_;
};

}  // namespace octet::triton
