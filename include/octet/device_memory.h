// SPDX-License-Identifier: Apache-2.0
// Memory of devices, for programs that are given addresses and do not know whose they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace octet {

// All of them throw Error(invalid_argument) for a name that no device has, Error(unsupported) for a device that cannot be used.

// The name of the device in whose memory an address lies, as far as `device` knows: "cpu" for the host's; empty for memory that all
// reach (CUDA's managed memory).
std::string memory_of(const void* address, const std::string& device);

// Zeroed. Throws Error(out_of_memory).
std::shared_ptr<std::byte> allocate_on(const std::string& device, int64_t bytes);

// Between memory of the host and of the device, or within either: after what `stream` of the device was given (null: CUDA's default
// stream), and done when it returns.
void copy_memory(void* to, const void* from, int64_t bytes, const std::string& device,
                 void* stream = nullptr);

}  // namespace octet
