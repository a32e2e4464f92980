// SPDX-License-Identifier: Apache-2.0
// What Triton calls. Nothing is thrown through these functions.
#include <fmt/format.h>

#include <memory>

#include "failure.h"
#include "instance.h"
#include "model.h"
#include "octet/provenance.h"
#include "triton_api.h"

namespace {

using octet::triton::Backend;
using octet::triton::check;
using octet::triton::guarded;
using octet::triton::Instance;
using octet::triton::ServedModel;

// The server keeps a pointer for us; null where initialization failed.
template <class T, class Object>
T* state_of(TRITONSERVER_Error* (*get)(Object*, void**), Object* object) {
  void* state = nullptr;
  check(get(object, &state));
  return static_cast<T*>(state);
}

void check_version() {
  uint32_t major = 0, minor = 0;
  check(TRITONBACKEND_ApiVersion(&major, &minor));
  if (major == kTritonBackendMajor && minor >= kTritonBackendMinor) return;
  throw octet::Error(
      octet::Error::Code::unsupported,
      fmt::format("the octet backend needs the backend interface {}.{} of Triton 24.01 or a later "
                  "one of the same major version; this server has {}.{}",
                  kTritonBackendMajor, kTritonBackendMinor, major, minor));
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return guarded([&] {
    check_version();
    auto state = std::make_unique<Backend>(backend);
    check(TRITONBACKEND_BackendSetState(backend, state.get()));
    state.release();
    octet::triton::log(TRITONSERVER_LOG_INFO,
                       fmt::format("Octet {} is the backend", octet::octet_version()));
  });
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return guarded([&] { delete state_of<Backend>(TRITONBACKEND_BackendState, backend); });
}

TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend*,
                                                      TRITONBACKEND_BackendAttribute* attribute) {
  return TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(attribute, true);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return guarded([&] {
    auto state = std::make_unique<ServedModel>(model);
    check(TRITONBACKEND_ModelSetState(model, state.get()));
    state.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return guarded([&] { delete state_of<ServedModel>(TRITONBACKEND_ModelState, model); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return guarded([&] {
    TRITONBACKEND_Model* model = nullptr;
    check(TRITONBACKEND_ModelInstanceModel(instance, &model));
    auto state = std::make_unique<Instance>(
        instance, *state_of<ServedModel>(TRITONBACKEND_ModelState, model));
    check(TRITONBACKEND_ModelInstanceSetState(instance, state.get()));
    state.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return guarded([&] { delete state_of<Instance>(TRITONBACKEND_ModelInstanceState, instance); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       uint32_t count) {
  // From here on the requests are ours: an error instead would leave them to the server, answered or not.
  Instance* state = nullptr;
  TRITONSERVER_Error* error =
      guarded([&] { state = state_of<Instance>(TRITONBACKEND_ModelInstanceState, instance); });
  if (error != nullptr) return error;
  octet::triton::ignore(guarded([&] { state->execute({requests, count}); }));
  return nullptr;
}
