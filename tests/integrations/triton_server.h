// SPDX-License-Identifier: Apache-2.0
// A server of the tests' own: it loads libtriton_octet.so as Triton does, and calls it through the same interface. It counts what it gave and
// what came back, and can refuse.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "integrations/triton/triton_api.h"
#include "octet/tensor.h"

// What a client sends, and what it got.
struct TRITONBACKEND_Input {
  std::string name;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_FP32;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  struct Buffer {
    const void* data;
    uint64_t bytes;
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  };
  std::vector<Buffer> buffers;
  std::vector<octet::Tensor> owned;
};

struct TRITONBACKEND_Output {
  std::string name;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  std::byte* memory = nullptr;  // `data`, or what the client gave
  TRITONSERVER_MemoryType where = TRITONSERVER_MEMORY_CPU;
};

struct TRITONBACKEND_State {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  int updates = 0;
};

struct TRITONBACKEND_Request {
  std::vector<TRITONBACKEND_Input> inputs;
  std::vector<std::string> wanted;
  bool cancelled = false;
  std::map<std::string, std::byte*> memory;  // the client's own for outputs, as of shared memory
  TRITONSERVER_MemoryType output_type = TRITONSERVER_MEMORY_CPU;
  bool refuse_outputs = false;  // the server has no memory for them

  std::vector<std::unique_ptr<TRITONBACKEND_Output>> outputs;  // by name in `wanted`'s order
  std::vector<std::unique_ptr<TRITONBACKEND_State>> states;
  int answers = 0, releases = 0, successes = 0, failures = 0;
  int error = -1;  // its code
  std::string message;

  const TRITONBACKEND_Output& output(const std::string& name) const;
};

namespace octet::triton_test {

// Objects that are alive.
struct Counts {
  std::atomic<int64_t> errors{0}, messages{0}, parameters{0}, metrics{0}, families{0}, responses{0};
};
Counts& counts();

class Failed : public std::runtime_error {
 public:
  Failed(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// The library, loaded once, and initialized with --backend-config=octet,KEY=VALUE.
class Server {
 public:
  explicit Server(const std::string& key = "", const std::string& value = "");
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  TRITONBACKEND_Backend* backend() const { return backend_.get(); }

 private:
  std::unique_ptr<TRITONBACKEND_Backend> backend_;
};

struct Folder {
  explicit Folder(const std::string& name);
  ~Folder();
  std::filesystem::path path;
  std::filesystem::path version(int number) const;  // made where it is missing
};

// A version of a model with its instances. Throws Failed where the backend refuses it.
class Served {
 public:
  Served(const Server& server, const Folder& folder,
         const nlohmann::json& config = nlohmann::json::object(), int instances = 1);
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  const nlohmann::json& config() const;
  // One execution of requests that stay the caller's.
  void execute(const std::vector<TRITONBACKEND_Request*>& requests, size_t instance = 0);
  uint64_t executions(size_t instance = 0) const;

 private:
  void start(int instances);
  void stop();

  std::unique_ptr<TRITONBACKEND_Model> model_;
  std::vector<std::unique_ptr<TRITONBACKEND_ModelInstance>> instances_;
};

// Of all labels together; 0 where there is none.
double metric(const std::string& name);

// A request with these tensors, for all outputs that are named.
TRITONBACKEND_Request request(const std::vector<std::pair<std::string, Tensor>>& inputs,
                              const std::vector<std::string>& outputs);
TRITONBACKEND_Input input(const std::string& name, const Tensor& tensor);

}  // namespace octet::triton_test
