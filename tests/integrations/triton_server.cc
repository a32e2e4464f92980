// SPDX-License-Identifier: Apache-2.0
#include "tests/integrations/triton_server.h"

#include <dlfcn.h>
#include <unistd.h>

#include "tests/integrations/triton_objects.h"

using octet::triton_test::Failed;

namespace {

void must(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  const Failed failed(static_cast<int>(error->code), error->message);
  TRITONSERVER_ErrorDelete(error);
  throw failed;
}

template <class F>
F* symbol(const char* name) {
  static void* library = dlopen(OCTET_TEST_TRITON, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(name);
  return reinterpret_cast<F*>(found);
}
#define OURS(name) symbol<decltype(TRITONBACKEND_##name)>("TRITONBACKEND_" #name)

}  // namespace

const TRITONBACKEND_Output& TRITONBACKEND_Request::output(const std::string& name) const {
  for (const auto& made : outputs) {
    if (made->name == name) return *made;
  }
  throw std::runtime_error("no output " + name + ": " + message);
}

namespace octet::triton_test {

Counts& counts() {
  static Counts alive;
  return alive;
}

MetricValues& metric_values() {
  static MetricValues all;
  return all;
}

Server::Server(const std::string& key, const std::string& value)
    : backend_(new TRITONBACKEND_Backend) {
  nlohmann::json config = {{"cmdline", nlohmann::json::object()}};
  if (!key.empty()) config["cmdline"][key] = value;
  backend_->config.text = config.dump();
  must(OURS(Initialize)(backend_.get()));
}
Server::~Server() { must(OURS(Finalize)(backend_.get())); }

Folder::Folder(const std::string& name)
    : path(std::filesystem::temp_directory_path() /
           ("octet-triton-" + name + "-" + std::to_string(getpid()))) {}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}
std::filesystem::path Folder::version(int number) const {
  const std::filesystem::path folder = path / std::to_string(number);
  std::filesystem::create_directories(folder);
  return folder;
}

Served::Served(const Server& server, const Folder& folder, const nlohmann::json& config,
               int instances)
    : model_(new TRITONBACKEND_Model{server.backend(), folder.path, config}) {
  must(OURS(ModelInitialize)(model_.get()));
  try {
    start(instances);
  } catch (...) {
    stop();
    throw;
  }
}
Served::~Served() { stop(); }

void Served::start(int instances) {
  for (int i = 0; i < instances; ++i) {
    auto made = std::make_unique<TRITONBACKEND_ModelInstance>();
    made->model = model_.get();
    made->number = i;
    must(OURS(ModelInstanceInitialize)(made.get()));
    instances_.push_back(std::move(made));
  }
}

void Served::stop() {
  for (const auto& instance : instances_) must(OURS(ModelInstanceFinalize)(instance.get()));
  must(OURS(ModelFinalize)(model_.get()));
}

const nlohmann::json& Served::config() const { return model_->config; }

void Served::execute(const std::vector<TRITONBACKEND_Request*>& requests, size_t instance) {
  std::vector<TRITONBACKEND_Request*> given = requests;
  must(OURS(ModelInstanceExecute)(instances_[instance].get(), given.data(),
                                  static_cast<uint32_t>(given.size())));
}
uint64_t Served::executions(size_t instance) const { return instances_[instance]->executions; }

double metric(const std::string& name) {
  MetricValues& all = metric_values();
  const std::lock_guard lock(all.mutex);
  return all.values[name];
}

TRITONBACKEND_Input input(const std::string& name, const Tensor& tensor) {
  TRITONBACKEND_Input made;
  made.name = name;
  made.type = tensor.dtype() == Dtype::f32   ? TRITONSERVER_TYPE_FP32
              : tensor.dtype() == Dtype::s64 ? TRITONSERVER_TYPE_INT64
                                             : TRITONSERVER_TYPE_UINT8;
  made.shape.assign(tensor.shape().begin(), tensor.shape().end());
  made.bytes = tensor.bytes();
  made.buffers.push_back({tensor.data(), tensor.bytes()});
  made.owned.push_back(tensor);
  return made;
}

TRITONBACKEND_Request request(const std::vector<std::pair<std::string, Tensor>>& inputs,
                              const std::vector<std::string>& outputs) {
  TRITONBACKEND_Request made;
  for (const auto& [name, tensor] : inputs) made.inputs.push_back(input(name, tensor));
  made.wanted = outputs;
  return made;
}

}  // namespace octet::triton_test
