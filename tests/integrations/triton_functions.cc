// SPDX-License-Identifier: Apache-2.0
// The functions of Triton's server that the backend calls.
#include <algorithm>

#include "tests/integrations/triton_objects.h"
#include "tests/integrations/triton_server.h"

using octet::triton_test::counts;
using octet::triton_test::metric_values;
using octet::triton_test::MetricValues;

struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request;
};

namespace {

TRITONSERVER_Error* refuse(TRITONSERVER_Error_Code code, const std::string& message) {
  return TRITONSERVER_ErrorNew(code, message.c_str());
}

}  // namespace

extern "C" {
TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* message) {
  ++counts().errors;
  return new TRITONSERVER_Error{code, message};
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {
  --counts().errors;
  delete error;
}
TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) { return error->code; }
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) { return error->message.c_str(); }

bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel) { return true; }
TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel, const char*, int, const char*) {
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* text, size_t bytes) {
  ++counts().messages;
  *message = new TRITONSERVER_Message{std::string(text, bytes)};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** text, size_t* bytes) {
  *text = message->text.data();
  *bytes = message->text.size();
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  --counts().messages;
  delete message;
  return nullptr;
}

TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name, TRITONSERVER_ParameterType,
                                                  const void* value) {
  ++counts().parameters;
  return new TRITONSERVER_Parameter{name, static_cast<const char*>(value)};
}
void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter) {
  --counts().parameters;
  delete parameter;
}

TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily** family,
                                                 TRITONSERVER_MetricKind, const char* name,
                                                 const char*) {
  ++counts().families;
  *family = new TRITONSERVER_MetricFamily{name, {}};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family) {
  if (family->metrics != 0) return refuse(TRITONSERVER_ERROR_INTERNAL, "a family with metrics");
  --counts().families;
  delete family;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricNew(TRITONSERVER_Metric** metric,
                                           TRITONSERVER_MetricFamily* family,
                                           const TRITONSERVER_Parameter**, uint64_t) {
  ++counts().metrics;
  ++family->metrics;
  *metric = new TRITONSERVER_Metric{family, {}};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric) {
  --counts().metrics;
  --metric->family->metrics;
  delete metric;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric, double by) {
  MetricValues& all = metric_values();
  const std::lock_guard lock(all.mutex);
  all.values[metric->family->name] += by;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value) {
  MetricValues& all = metric_values();
  const std::lock_guard lock(all.mutex);
  all.values[metric->family->name] = value;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = kTritonBackendMajor;
  *minor = kTritonBackendMinor;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** config) {
  *config = &backend->config;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendState(TRITONBACKEND_Backend* backend, void** state) {
  *state = backend->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend* backend, void* state) {
  backend->state = state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(
    TRITONBACKEND_BackendAttribute*, bool) {
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model*, const char** name) {
  *name = "model";
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model*, uint64_t* version) {
  *version = 1;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model,
                                                  TRITONBACKEND_ArtifactType* type,
                                                  const char** location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->folder.c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, uint32_t,
                                              TRITONSERVER_Message** config) {
  const std::string text = model->config.dump();
  return TRITONSERVER_MessageNewFromSerializedJson(config, text.data(), text.size());
}
TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model*, bool* asked) {
  *asked = true;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, uint32_t,
                                                 TRITONSERVER_Message* config) {
  model->config = nlohmann::json::parse(config->text);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelBackend(TRITONBACKEND_Model* model,
                                               TRITONBACKEND_Backend** backend) {
  *backend = model->backend;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) {
  *state = model->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) {
  model->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance*,
                                                    const char** name) {
  *name = "instance";
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance* instance,
                                                    TRITONSERVER_InstanceGroupKind* kind) {
  const bool gpu = instance->model->config.value("kind", "") == "KIND_GPU";
  *kind = gpu ? TRITONSERVER_INSTANCEGROUPKIND_GPU : TRITONSERVER_INSTANCEGROUPKIND_CPU;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance* instance,
                                                        int32_t* device) {
  *device = instance->number;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model) {
  *model = instance->model;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance,
                                                     void** state) {
  *state = instance->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance,
                                                        void* state) {
  instance->state = state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request* request, bool success, uint64_t start,
    uint64_t compute_start, uint64_t compute_end, uint64_t end) {
  if (!(start <= compute_start && compute_start <= compute_end && compute_end <= end))
    return refuse(TRITONSERVER_ERROR_INVALID_ARG, "times go backwards");
  ++(success ? request->successes : request->failures);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) {
  ++instance->executions;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                     bool* cancelled) {
  *cancelled = request->cancelled;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input) {
  const auto at = std::ranges::find(request->inputs, name, &TRITONBACKEND_Input::name);
  if (at == request->inputs.end())
    return refuse(TRITONSERVER_ERROR_INVALID_ARG, std::string("unknown request input ") + name);
  *input = &*at;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     uint32_t* count) {
  *count = static_cast<uint32_t>(request->wanted.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request, uint32_t index,
                                                    const char** name) {
  *name = request->wanted[index].c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t) {
  ++request->releases;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  TRITONSERVER_DataType* type,
                                                  const int64_t** shape, uint32_t* rank,
                                                  uint64_t* bytes, uint32_t* buffers) {
  if (name != nullptr) *name = input->name.c_str();
  *type = input->type;
  *shape = input->shape.data();
  *rank = static_cast<uint32_t>(input->shape.size());
  *bytes = input->bytes;
  *buffers = static_cast<uint32_t>(input->buffers.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, uint32_t index,
                                              const void** buffer, uint64_t* bytes,
                                              TRITONSERVER_MemoryType* type, int64_t* id) {
  *buffer = input->buffers[index].data;
  *bytes = input->buffers[index].bytes;
  *type = input->buffers[index].type;
  *id = 0;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) {
  ++counts().responses;
  *response = new TRITONBACKEND_Response{request};
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 TRITONSERVER_DataType type, const int64_t* shape,
                                                 uint32_t rank) {
  auto made = std::make_unique<TRITONBACKEND_Output>();
  made->name = name;
  made->type = type;
  made->shape.assign(shape, shape + rank);
  *output = made.get();
  response->request->outputs.push_back(std::move(made));
  // The real one has no other way back from an output.
  (*output)->memory = nullptr;
  const auto given = response->request->memory.find(name);
  if (given != response->request->memory.end()) {
    (*output)->memory = given->second;
    (*output)->where = response->request->output_type;
  }
  if (response->request->refuse_outputs) (*output)->type = TRITONSERVER_TYPE_INVALID;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               uint64_t bytes, TRITONSERVER_MemoryType* type,
                                               int64_t* id) {
  if (output->type == TRITONSERVER_TYPE_INVALID)
    return refuse(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for outputs");
  *id = 0;
  *type = output->where;
  if (output->memory == nullptr) {
    output->data.resize(bytes);
    output->memory = output->data.data();
  }
  *buffer = output->memory;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_StateNew(TRITONBACKEND_State** state,
                                           TRITONBACKEND_Request* request, const char* name,
                                           TRITONSERVER_DataType, const int64_t* shape,
                                           uint32_t rank) {
  request->states.push_back(std::make_unique<TRITONBACKEND_State>());
  *state = request->states.back().get();
  (*state)->name = name;
  (*state)->shape.assign(shape, shape + rank);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_StateBuffer(TRITONBACKEND_State* state, void** buffer,
                                              uint64_t bytes, TRITONSERVER_MemoryType* type,
                                              int64_t* id) {
  state->data.resize(bytes);
  *buffer = state->data.data();
  *type = TRITONSERVER_MEMORY_CPU;
  *id = 0;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_StateUpdate(TRITONBACKEND_State* state) {
  ++state->updates;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, uint32_t,
                                               TRITONSERVER_Error* error) {
  TRITONBACKEND_Request& request = *response->request;
  ++request.answers;
  if (error != nullptr) {
    request.error = static_cast<int>(error->code);
    request.message = error->message;
  }
  --counts().responses;
  delete response;
  return nullptr;
}
}
