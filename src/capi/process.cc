// SPDX-License-Identifier: Apache-2.0
// Versions, memory, and what holds for the process.
#include <fmt/format.h>

#include "capi/call.h"
#include "octet/device_memory.h"
#include "octet/limits.h"
#include "octet/machine.h"
#include "octet/plugins.h"
#include "octet/provenance.h"

namespace capi = octet::capi;

namespace {

std::string device_of(const char* device) { return device != nullptr ? device : "cpu"; }

}  // namespace

const char* octet_version() { return octet::octet_version().data(); }

uint32_t octet_abi_version() { return OCTET_ABI; }

const char* octet_status_name(octet_status status) {
  static constexpr const char* kNames[] = {
      "ok", "invalid_model", "unsupported", "invalid_argument", "out_of_memory",
      "io", "cancelled",     "internal"};
  return status >= OCTET_OK && status <= OCTET_INTERNAL ? kNames[status] : "unknown";
}

octet_status octet_stop_create(octet_stop** out, octet_error** error) {
  return capi::made(out, error, [] { return std::make_unique<octet_stop>(); });
}

void octet_stop_request(octet_stop* stop) {
  if (stop != nullptr) stop->source.request_stop();
}

void octet_stop_free(octet_stop* stop) { delete stop; }

octet_status octet_memory_for(const octet_context* context, uint64_t bytes, octet_memory** out,
                              octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(context, "context");
    const octet::TensorType type{octet::Dtype::u8, {capi::checked_bytes(bytes)}};
    auto tensor = std::make_shared<octet::Tensor>(context->context.make_tensor(type));
    void* data = tensor->mutable_data();
    return std::make_unique<octet_memory>(octet_memory{std::move(tensor), data, bytes});
  });
}

octet_status octet_memory_on(const char* device, uint64_t bytes, octet_memory** out,
                             octet_error** error) {
  return capi::made(out, error, [&] {
    std::shared_ptr<std::byte> memory =
        octet::allocate_on(device_of(device), capi::checked_bytes(bytes));
    void* data = memory.get();
    return std::make_unique<octet_memory>(octet_memory{std::move(memory), data, bytes});
  });
}

void* octet_memory_data(const octet_memory* memory) {
  return memory != nullptr ? memory->data : nullptr;
}

uint64_t octet_memory_size(const octet_memory* memory) {
  return memory != nullptr ? memory->bytes : 0;
}

void octet_memory_free(octet_memory* memory) { delete memory; }

octet_status octet_memory_copy(const octet_copy* copy, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(copy, "copy");
    const octet_copy asked = capi::struct_of(copy, capi::kCopy);
    const int64_t bytes = capi::checked_bytes(asked.bytes);
    if (bytes == 0) return;
    capi::need(asked.destination, "octet_copy.destination");
    capi::need(asked.source, "octet_copy.source");
    octet::copy_memory(asked.destination, asked.source, bytes, device_of(asked.device),
                       asked.stream);
  });
}

octet_status octet_device_check(const char* device, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(device, "device");
    octet::device_info(device);
  });
}

int32_t octet_usable_processors() {
  int32_t count = 1;
  capi::guarded(nullptr, [&] { count = octet::usable_processors(); });
  return count;
}

octet_status octet_set_memory_limit(int64_t bytes, octet_error** error) {
  return capi::guarded(error, [&] {
    if (bytes < 0) capi::refuse(fmt::format("a memory limit of {} bytes", bytes));
    octet::Limits limits = octet::limits();
    limits.memory = bytes;
    octet::set_limits(limits);
  });
}

octet_status octet_load_plugin(const char* library, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(library, "library");
    octet::load_plugin(library);
  });
}
