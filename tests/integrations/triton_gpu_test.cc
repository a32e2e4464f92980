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

// In the host's memory, in pieces: they are put together once, in what the GPU copies from and to.
TEST_F(TritonGpu, RowsOfTheHostAreJoinedOnce) {
  const Server server("default-max-batch-size", "4");
  const SavedModel model("gpu-joined", engine);
  Served served(server, model.folder, {{"kind", "KIND_GPU"}});
  const Tensor sent = codes({2, 4, 5, 5}, 5);
  const std::vector<Tensor> want = answers(engine, {sent});
  TRITONBACKEND_Request one = request({{"x", sent}}, {"z", "y"});
  TRITONBACKEND_Request two = request({{"x", sent}}, {"z", "y"});
  const Tensor elsewhere = codes({2, 4, 5, 5}, 5);  // the same: pieces side by side would be one
  for (TRITONBACKEND_Request* each : {&one, &two})
    each->inputs[0].buffers = {{sent.data(), 30}, {elsewhere.data() + 30, sent.bytes() - 30}};
  const double before = metric("octet_copied_bytes_total");
  served.execute({&one, &two});
  for (const TRITONBACKEND_Request* each : {&one, &two}) {
    expect_answer(*each, "z", want[0]);
    expect_answer(*each, "y", want[1]);
  }
  EXPECT_EQ(metric("octet_copied_bytes_total") - before,
            static_cast<double>(2 * (sent.bytes() + want[0].bytes() + want[1].bytes())));
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

// What an earlier run left in the GPU's memory is no row of a later one.
TEST_F(TritonGpu, RowsThatFillABatchAreZero) {
  const Server server;
  const Engine lookup = engine_of(kLookup);
  const SavedModel model("gpu-padding", lookup);
  Json config = {{"kind", "KIND_GPU"}, {"max_batch_size", 4}};
  config["parameters"]["batch_sizes"] = {{"string_value", "4"}};
  Served served(server, model.folder, config);
  const auto sent_from = [](const Tensor& tensor, const std::shared_ptr<std::byte>& memory) {
    TRITONBACKEND_Request made = request({{"i", tensor}}, {"y"});
    made.inputs[0].buffers = {{memory.get(), tensor.bytes(), TRITONSERVER_MEMORY_GPU}};
    return made;
  };
  const Tensor good = Tensor::of<int64_t>(Shape{2, 2}, std::vector<int64_t>{3, 1, 0, 2});
  const Tensor bad = Tensor::of<int64_t>(Shape{2, 2}, std::vector<int64_t>{3, 1, 2, 77});
  const std::shared_ptr<std::byte> first = on_gpu(good), second = on_gpu(bad);
  TRITONBACKEND_Request one = sent_from(good, first), wrong = sent_from(bad, second);
  served.execute({&one, &wrong});
  EXPECT_EQ(wrong.error, TRITONSERVER_ERROR_INVALID_ARG) << wrong.message;
  expect_answer(one, "y", answers(lookup, {good})[0]);
}

TEST_F(TritonGpu, SizesMayDependOnDataInItsMemory) {
  const Server server;
  const Engine chosen = engine_of(kChosen);
  const SavedModel model("gpu-chosen", chosen);
  Served served(server, model.folder, {{"kind", "KIND_GPU"}});
  const Tensor sent = Tensor::of<float>(Shape{6}, std::vector<float>{1, -2, 3, -4, 5, 6});
  const std::shared_ptr<std::byte> memory = on_gpu(sent);
  TRITONBACKEND_Request one = request({{"s", sent}}, {"n"});
  one.inputs[0].buffers = {{memory.get(), sent.bytes(), TRITONSERVER_MEMORY_GPU}};
  served.execute({&one});
  expect_answer(one, "n", answers(chosen, {sent})[0]);
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
