// SPDX-License-Identifier: Apache-2.0
// Requests through the backend are answered as the engine answers, whatever they share a batch with.
#include <random>
#include <thread>

#include "integrations/triton/batch_plan.h"
#include "tests/integrations/triton_models.h"

namespace octet::triton_test {
namespace {

using Json = nlohmann::json;

Json parameters(const std::vector<std::pair<std::string, std::string>>& given) {
  Json made = {{"parameters", Json::object()}};
  for (const auto& [key, value] : given) made["parameters"][key] = {{"string_value", value}};
  return made;
}

TEST(TritonConfig, IsCompletedFromTheEngine) {
  const Server server("default-max-batch-size", "6");
  const SavedModel model("completed", engine_of(kConv));
  const Served served(server, model.folder);
  const Json& config = served.config();
  EXPECT_EQ(config["max_batch_size"], 6);
  EXPECT_EQ(config["input"],
            Json::parse(R"([{"name":"x","data_type":"TYPE_UINT8","dims":[4,5,5]}])"));
  EXPECT_EQ(config["output"], Json::parse(R"([{"name":"z","data_type":"TYPE_UINT8","dims":[2,5,5]},
                                             {"name":"y","data_type":"TYPE_UINT8","dims":[2,5,5]}])"));
  EXPECT_TRUE(config.contains("dynamic_batching"));
}

TEST(TritonConfig, RowsThatDependOnEachOtherShareNoBatch) {
  const Server server;
  const SavedModel model("mixing", engine_of(kMixing));
  const Served served(server, model.folder);
  EXPECT_EQ(served.config()["max_batch_size"], 0);
  EXPECT_EQ(served.config()["input"][0]["dims"], Json({-1, 4}));
  try {
    Json asked = served.config();
    asked["max_batch_size"] = 4;
    asked["input"][0]["dims"] = {4};
    asked["output"][0]["dims"] = {4};
    const Served refused(server, model.folder, asked);
    ADD_FAILURE();
  } catch (const Failed& failed) {
    EXPECT_EQ(failed.code(), TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_STREQ(
        failed.what(),
        "model version 1: max_batch_size is 4, but a row of output 'y' depends on the other "
        "rows of the batch: set it to 0");
  }
}

// Whatever the server's folder says of the batch.
TEST(TritonConfig, NoBatchIsAskedOfRowsThatDependOnEachOther) {
  const Server server;
  for (const auto& [graph, reason] :
       {std::pair(kMixingOpen, "a row of output 'y' depends on the other rows of the batch"),
        std::pair(kChosenOpen, "sizes of its outputs depend on the data")}) {
    const SavedModel model("asked", engine_of(graph));
    try {
      const Served refused(server, model.folder, {{"max_batch_size", 4}});
      ADD_FAILURE() << graph;
    } catch (const Failed& failed) {
      EXPECT_EQ(failed.code(), TRITONSERVER_ERROR_INVALID_ARG);
      EXPECT_EQ(failed.what(), "model version 1: max_batch_size is 4, but " + std::string(reason) +
                                   ": set it to 0");
    }
  }
}

// Where the sizes of requests are what tells.
TEST(TritonExecute, NoBatchOfRowsThatDependOnEachOther) {
  const Server server;
  const Tensor sent = Tensor::of<float>(Shape{1, 5}, std::vector<float>{1, 2, -3, 4, 5});
  for (const std::string_view graph : {kMixingOfFive, kChosenOfFive}) {
    const SavedModel model("of-five", engine_of(graph));
    Served served(server, model.folder, {{"max_batch_size", 4}});
    // Sizes that do not fit tell nothing of those that do.
    TRITONBACKEND_Request unfit = request({{"x", Tensor(Dtype::f32, Shape{1, 7})}}, {"y"});
    served.execute({&unfit});
    EXPECT_EQ(unfit.error, TRITONSERVER_ERROR_INVALID_ARG) << unfit.message;
    TRITONBACKEND_Request one = request({{"x", sent}}, {"y"});
    TRITONBACKEND_Request other = request({{"x", sent}}, {"y"});
    served.execute({&one, &other});
    for (const TRITONBACKEND_Request* of : {&one, &other}) {
      EXPECT_EQ(of->error, TRITONSERVER_ERROR_INVALID_ARG) << graph;
      EXPECT_NE(of->message.find("set it to 0"), std::string::npos) << of->message;
      expect_finished(*of);
    }
  }
  const Engine engine = engine_of(kSumOfFive);
  const SavedModel model("sum-of-five", engine);
  Served served(server, model.folder, {{"max_batch_size", 4}});
  TRITONBACKEND_Request one = request({{"x", sent}}, {"y"});
  TRITONBACKEND_Request other = request({{"x", sent}}, {"y"});
  served.execute({&one, &other});
  expect_answer(one, "y", answers(engine, {sent})[0]);
  expect_answer(other, "y", answers(engine, {sent})[0]);
}

// Data that a trial makes up may be wrong for a model that is right.
TEST(TritonExecute, ATrialThatDoesNotRunIsNoFault) {
  const Server server;
  const Engine engine = engine_of(kShortLookup);
  const SavedModel model("short-lookup", engine);
  Served served(server, model.folder, {{"max_batch_size", 4}});
  const Tensor sent(Dtype::s64, Shape{3, 2});
  TRITONBACKEND_Request one = request({{"i", sent}}, {"y"});
  served.execute({&one});
  expect_answer(one, "y", answers(engine, {sent})[0]);
}

TEST(TritonExecute, RequestsOfOneExecutionShareBatches) {
  const Server server("default-max-batch-size", "8");
  const Engine engine = engine_of(kConv);
  const SavedModel model("shared", engine);
  Served served(server, model.folder);
  const std::vector<int64_t> rows = {1, 3, 1, 2, 4, 8, 1};
  std::vector<Tensor> sent;
  std::vector<TRITONBACKEND_Request> requests;
  std::vector<TRITONBACKEND_Request*> given;
  for (size_t i = 0; i < rows.size(); ++i) {
    sent.push_back(codes({rows[i], 4, 5, 5}, static_cast<unsigned>(i)));
    requests.push_back(request({{"x", sent[i]}}, {i % 2 == 0 ? "z" : "y"}));
  }
  requests[3].wanted = {"y", "z"};
  for (TRITONBACKEND_Request& one : requests) given.push_back(&one);
  served.execute(given);
  EXPECT_EQ(served.executions(), 1u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<Tensor> want = answers(engine, {sent[i]});
    if (i % 2 == 0 || i == 3) expect_answer(requests[i], "z", want[0]);
    if (i % 2 == 1) expect_answer(requests[i], "y", want[1]);
    EXPECT_EQ(requests[i].outputs.size(), requests[i].wanted.size());
    expect_finished(requests[i]);
  }
}

// Whatever is in order is read and written where it lies: one request of a prepared size, and neighbors in shared memory.
TEST(TritonExecute, NothingIsCopiedWhereMemoryAllows) {
  const Server server;
  const Engine engine = engine_of(kConv);
  const SavedModel model("in-place", engine);
  Served served(server, model.folder, parameters({{"warm_up", "off"}, {"batch_sizes", "1,4"}}));
  const double before = metric("octet_copied_bytes_total");
  const Tensor four = codes({4, 4, 5, 5}, 1);
  const std::vector<Tensor> want = answers(engine, {four});
  TRITONBACKEND_Request whole = request({{"x", four}}, {"z", "y"});
  served.execute({&whole});
  expect_answer(whole, "z", want[0]);

  const size_t in = four.bytes() / 4, out = want[0].bytes() / 4;
  std::vector<std::byte> region(2 * want[0].bytes());
  std::vector<TRITONBACKEND_Request> parts(4);
  std::vector<TRITONBACKEND_Request*> given;
  for (size_t i = 0; i < 4; ++i) {
    parts[i].inputs.push_back(
        {"x", TRITONSERVER_TYPE_UINT8, {1, 4, 5, 5}, in, {{four.data() + i * in, in}}, {}});
    parts[i].wanted = {"z", "y"};
    parts[i].memory = {{"z", region.data() + i * out},
                       {"y", region.data() + want[0].bytes() + i * out}};
    given.push_back(&parts[i]);
  }
  served.execute(given);
  EXPECT_EQ(std::memcmp(region.data(), want[0].data(), want[0].bytes()), 0);
  EXPECT_EQ(std::memcmp(region.data() + want[0].bytes(), want[1].data(), want[1].bytes()), 0);
  EXPECT_EQ(metric("octet_copied_bytes_total"), before);
}

TEST(TritonExecute, InputsInPiecesAreOne) {
  ServedGraph on("pieces", kConv);
  const Tensor sent = codes({3, 4, 5, 5}, 7);
  TRITONBACKEND_Request parts = request({{"x", sent}}, {"z"});
  parts.inputs[0].buffers = {
      {sent.data(), 17}, {nullptr, 0}, {sent.data() + 17, 100}, {sent.data() + 117, 183}};
  const Tensor apart = sent.clone();
  parts.inputs[0].buffers[2].data = apart.data() + 17;
  on.served.execute({&parts});
  expect_answer(parts, "z", answers(on.engine, {sent})[0]);
}

// After a model is ready nothing is planned and nothing compiled.
TEST(TritonExecute, PlansAreMadeWhileTheModelIsLoaded) {
  const Server server("default-max-batch-size", "16");
  const Engine engine = engine_of(kOpen);
  const SavedModel model("planned", engine);
  Served served(server, model.folder, parameters({{"shapes", "4x8x8;4x16x8;4x9x9"}}), 2);
  const double before = metric("octet_compilations_total");
  std::minstd_rand random(3);
  const Shape sizes[] = {{4, 8, 8}, {4, 16, 8}, {4, 9, 9}};
  for (unsigned i = 0; i < 200; ++i) {
    Shape shape{static_cast<int64_t>(1 + random() % 16)};
    for (const int64_t size : sizes[random() % 3]) shape.push_back(size);
    const Tensor sent = codes(shape, i);
    TRITONBACKEND_Request one = request({{"x", sent}}, {"z"});
    served.execute({&one}, i % 2);
    expect_answer(one, "z", answers(engine, {sent})[0]);
  }
  EXPECT_EQ(metric("octet_compilations_total"), before);
  // A size that nobody named is answered, and told.
  const Tensor sent = codes({1, 4, 7, 7}, 1);
  TRITONBACKEND_Request one = request({{"x", sent}}, {"z"});
  served.execute({&one});
  expect_answer(one, "z", answers(engine, {sent})[0]);
  EXPECT_EQ(metric("octet_compilations_total"), before + 1);
}

TEST(TritonExecute, UnlikeSizesOfOneExecutionRunApart) {
  ServedGraph on("unlike", kOpen);
  const std::vector<Tensor> sent = {codes({1, 4, 8, 8}, 1), codes({2, 4, 8, 8}, 2),
                                    codes({1, 4, 6, 9}, 3), codes({1, 4, 8, 8}, 4)};
  std::vector<TRITONBACKEND_Request> requests;
  std::vector<TRITONBACKEND_Request*> given;
  for (const Tensor& tensor : sent) requests.push_back(request({{"x", tensor}}, {"z"}));
  for (TRITONBACKEND_Request& one : requests) given.push_back(&one);
  on.served.execute(given);
  for (size_t i = 0; i < sent.size(); ++i) {
    expect_answer(requests[i], "z", answers(on.engine, {sent[i]})[0]);
    expect_finished(requests[i]);
  }
}

TEST(TritonExecute, AFixedBatchIsFilled) {
  const Server server;
  const Engine engine = engine_of(kFixed);
  const SavedModel model("fixed", engine);
  {
    const Served whole(server, model.folder);
    EXPECT_EQ(whole.config()["max_batch_size"], 0);
    EXPECT_EQ(whole.config()["input"][0]["dims"], Json({4, 4, 5, 5}));
  }
  Served served(server, model.folder, {{"max_batch_size", 4}});
  const Tensor four = codes({4, 4, 5, 5}, 1);
  const Tensor want = answers(engine, {four})[0];
  const size_t row = four.bytes() / 4;
  TRITONBACKEND_Request three;
  three.inputs.push_back(
      {"x", TRITONSERVER_TYPE_UINT8, {3, 4, 5, 5}, 3 * row, {{four.data(), 3 * row}}, {}});
  three.wanted = {"z"};
  served.execute({&three});
  EXPECT_EQ(three.error, -1) << three.message;
  EXPECT_EQ(std::memcmp(three.output("z").memory, want.data(), 3 * row), 0);
}

TEST(TritonExecute, SizesMayDependOnData) {
  ServedGraph on("chosen", kChosen);
  EXPECT_EQ(on.served.config()["max_batch_size"], 0);
  for (const float first : {1.0f, -1.0f}) {
    const std::vector<float> values = {first, -2, 3, -4, 5, 6};
    const Tensor sent = Tensor::of<float>(Shape{6}, values);
    TRITONBACKEND_Request one = request({{"s", sent}}, {"n"});
    on.served.execute({&one});
    expect_answer(one, "n", answers(on.engine, {sent})[0]);
  }
}

nlohmann::json with_state(const std::string& input, const std::string& output) {
  const nlohmann::json state = {
      {"input_name", input}, {"output_name", output}, {"data_type", "TYPE_FP32"}, {"dims", {4}}};
  return {{"max_batch_size", 4}, {"sequence_batching", {{"state", {state}}}}};
}

// What a sequence keeps is the server's: it comes as an input, and goes into the memory that the server gives, once, where the run succeeds.
TEST(TritonExecute, StatesOfSequencesAreKept) {
  const Server server;
  const Engine engine = engine_of(kSums);
  const SavedModel model("sums", engine);
  Served served(server, model.folder, with_state("h", "n"));
  EXPECT_EQ(served.config()["input"].size(), 1u);
  EXPECT_EQ(served.config()["output"][0]["name"], "y");
  const std::vector<float> x = {1, -2, 3, -4}, h = {10, 20, -30, -40};
  const Tensor sent = Tensor::of<float>(Shape{1, 4}, x), kept = Tensor::of<float>(Shape{1, 4}, h);
  const std::vector<Tensor> want = answers(engine, {sent, kept});
  TRITONBACKEND_Request alone = request({{"x", sent}, {"h", kept}}, {"y"});
  TRITONBACKEND_Request both = request({{"x", sent}, {"h", kept}}, {"n", "y"});
  TRITONBACKEND_Request bad = request({{"x", sent}, {"h", kept}}, {"y"});
  bad.inputs[0].bytes = 3;
  served.execute({&alone, &bad, &both});
  for (TRITONBACKEND_Request* one : {&alone, &both}) {
    expect_answer(*one, "y", want[0]);
    expect_finished(*one);
    ASSERT_EQ(one->states.size(), 1u);
    const TRITONBACKEND_State& state = *one->states[0];
    EXPECT_EQ(state.name, "n");
    EXPECT_EQ(state.shape, (std::vector<int64_t>{1, 4}));
    EXPECT_EQ(state.updates, 1);
    ASSERT_EQ(state.data.size(), want[1].bytes());
    EXPECT_EQ(std::memcmp(state.data.data(), want[1].data(), want[1].bytes()), 0);
  }
  expect_answer(both, "n", want[1]);
  EXPECT_EQ(alone.outputs.size(), 1u);
  EXPECT_EQ(bad.error, TRITONSERVER_ERROR_INVALID_ARG);
  EXPECT_TRUE(bad.states.empty());
}

TEST(TritonExecute, InstancesRunAtTheSameTime) {
  const Server server("default-max-batch-size", "8");
  const Engine engine = engine_of(kConv);
  const SavedModel model("parallel", engine);
  Served served(server, model.folder, parameters({{"threads", "2"}}), 3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 50; ++i) {
        const Tensor sent = codes({1 + i % 8, 4, 5, 5}, i);
        TRITONBACKEND_Request one = request({{"x", sent}}, {"z"});
        served.execute({&one}, t);
        expect_answer(one, "z", answers(engine, {sent})[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TritonBatchPlan, TakesTheLeastTime) {
  using triton::BatchPlan;
  const std::vector<triton::BatchCost> linear = {{1, 1}, {2, 2}, {4, 4}, {8, 8}};
  EXPECT_EQ(BatchPlan(linear).runs(5), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(BatchPlan(linear).runs(8), (std::vector<int64_t>{8}));
  EXPECT_EQ(BatchPlan(linear).runs(19), (std::vector<int64_t>{8, 8, 2, 1}));
  const std::vector<triton::BatchCost> flat = {{1, 1}, {4, 1.5}, {8, 2}};
  EXPECT_EQ(BatchPlan(flat).runs(2), (std::vector<int64_t>{4}));
  EXPECT_EQ(BatchPlan(flat).runs(5), (std::vector<int64_t>{8}));
  EXPECT_EQ(triton::usual_batches(6, 0), (std::vector<int64_t>{1, 2, 4, 6}));
  EXPECT_EQ(triton::usual_batches(1, 0), (std::vector<int64_t>{1}));
  EXPECT_EQ(triton::usual_batches(4, 8), (std::vector<int64_t>{8}));
}

}  // namespace
}  // namespace octet::triton_test
