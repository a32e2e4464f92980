// SPDX-License-Identifier: Apache-2.0
// Whose memory clients' pointers are, and where engines run: a GPU, or the host where Octet's own runtime of CUDA is the client's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace octet_trt {

// "cuda:N" of the calling thread's choice (cudaSetDevice), or "cpu": what the environment's OCTET_TENSORRT_DEVICE says; else the CPU where
// this process has Octet's own runtime of CUDA, or no GPU that Octet can use.
std::string run_device();

// The name of the device in whose memory an address lies that a client gave for a run on `device`.
std::string owner_of(const void* address, const std::string& device);
// What a client gave for a run on `device`.
struct ClientMemory {
  const void* address;
  const std::string& device;
  void* stream;
};
// Between a client's memory, which is `to` or `from`, and the host's, behind what the stream was given; done when it returns.
void copy_client(void* to, const void* from, int64_t bytes, const ClientMemory& client);

// Octet's own runtime of CUDA, if this process has it; it stays. Programs may have opened it where no other library sees its symbols, as
// Python does.
void* own_cudart();

// A function of the CUDA driver that Octet uses; null where it uses none.
void* driver_function(const char* name);

}  // namespace octet_trt
