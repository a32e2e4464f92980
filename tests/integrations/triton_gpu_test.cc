// SPDX-License-Identifier: Apache-2.0
// The backend on a GPU, which is the emulated one wherever there is none: instances of KIND_GPU, and requests in the GPU's memory.
#include "octet/device_memory.h"
#include "octet/machine.h"
#include "tests/integrations/triton_models.h"

namespace octet::triton_test {
namespace {

using Json = nlohmann::json;

bool has_gpu() {
  for (const DeviceEntry& entry : list_devices()) {
    if (entry.info.name == "cuda:0" && entry.missing.empty()) return true;
  }
  return false;
}

std::shared_ptr<std::byte> on_gpu(const Tensor& tensor) {
  std::shared_ptr<std::byte> memory = allocate_on("cuda:0", static_cast<int64_t>(tensor.bytes()));
  copy_memory(memory.get(), tensor.data(), static_cast<int64_t>(tensor.bytes()), "cuda:0");
  return memory;
}

class TritonGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "there is no GPU, and OCTET_CUDA_DRIVER names no emulated one";
  }
  const Engine engine = engine_of(kConv);
};

TEST_F(TritonGpu, AnswersAreThoseOfTheProcessor) {
  const Server server("default-max-batch-size", "4");
  const SavedModel model("gpu", engine);
  Served served(server, model.folder, {{"kind", "KIND_GPU"}});
  const double before = metric("octet_compilations_total");
  for (int64_t rows = 1; rows <= 4; ++rows) {
    const Tensor sent = codes({rows, 4, 5, 5}, 5);
    const std::vector<Tensor> want = answers(engine, {sent});
    TRITONBACKEND_Request one = request({{"x", sent}}, {"z", "y"});
    served.execute({&one});
    expect_answer(one, "z", want[0]);
    expect_answer(one, "y", want[1]);
  }
  EXPECT_EQ(metric("octet_compilations_total"), before);
}

// Of CUDA shared memory: inputs there alone, outputs there alone, and requests of both kinds in one batch.
TEST_F(TritonGpu, RequestsMayLieInItsMemory) {
  const Server server("default-max-batch-size", "4");
  const SavedModel model("gpu-memory", engine);
  Served served(server, model.folder, {{"kind", "KIND_GPU"}});
  const double before = metric("octet_compilations_total");
  const Tensor sent = codes({2, 4, 5, 5}, 5);
  const std::vector<Tensor> want = answers(engine, {sent});
  const std::shared_ptr<std::byte> memory = on_gpu(sent);
  TRITONBACKEND_Request there = request({{"x", sent}}, {"z", "y"});
  there.inputs[0].buffers = {{memory.get(), sent.bytes(), TRITONSERVER_MEMORY_GPU}};
  TRITONBACKEND_Request here = request({{"x", sent}}, {"z", "y"});
  served.execute({&there, &here});
  for (const TRITONBACKEND_Request* one : {&there, &here}) {
    expect_answer(*one, "z", want[0]);
    expect_answer(*one, "y", want[1]);
    expect_finished(*one);
  }
  const std::shared_ptr<std::byte> out =
      allocate_on("cuda:0", static_cast<int64_t>(want[0].bytes()));
  TRITONBACKEND_Request back = request({{"x", sent}}, {"z", "y"});
  back.memory = {{"z", out.get()}};
  back.output_type = TRITONSERVER_MEMORY_GPU;
  served.execute({&back});
  Tensor got(Dtype::u8, want[0].shape());
  copy_memory(got.mutable_data(), out.get(), static_cast<int64_t>(got.bytes()), "cuda:0");
  EXPECT_EQ(std::memcmp(got.data(), want[0].data(), got.bytes()), 0);
  expect_answer(back, "y", want[1]);
  EXPECT_EQ(metric("octet_compilations_total"), before);
}

TEST_F(TritonGpu, InstancesOfTwoGpusServeOneModel) {
  if (list_devices().size() < 3) GTEST_SKIP() << "there is one GPU";
  const Server server;
  const SavedModel model("gpus", engine);
  Served served(server, model.folder, {{"kind", "KIND_GPU"}}, 2);
  const Tensor sent = codes({3, 4, 5, 5}, 9);
  const Tensor want = answers(engine, {sent})[0];
  for (size_t gpu = 0; gpu < 2; ++gpu) {
    TRITONBACKEND_Request one = request({{"x", sent}}, {"z"});
    served.execute({&one}, gpu);
    expect_answer(one, "z", want);
  }
}

// A model of the processor reads what a client left on a GPU.
TEST_F(TritonGpu, TheProcessorReadsItsMemoryToo) {
  const Server server;
  const SavedModel model("gpu-to-cpu", engine);
  Served served(server, model.folder);
  const Tensor sent = codes({1, 4, 5, 5}, 5);
  const std::shared_ptr<std::byte> memory = on_gpu(sent);
  TRITONBACKEND_Request one = request({{"x", sent}}, {"z"});
  one.inputs[0].buffers = {{memory.get(), sent.bytes(), TRITONSERVER_MEMORY_GPU}};
  served.execute({&one});
  expect_answer(one, "z", answers(engine, {sent})[0]);
}

}  // namespace
}  // namespace octet::triton_test
