// SPDX-License-Identifier: Apache-2.0
// What is wrong is refused with the server's proper code, ends nothing, leaks nothing, and harms no other request.
#include <malloc.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "tests/integrations/triton_models.h"

namespace octet::triton_test {
namespace {

using Json = nlohmann::json;
using Spoil = void (*)(TRITONBACKEND_Request&);

struct Malformed {
  const char* name;
  Spoil spoil;
  int code;
  const char* message;
};

const Malformed kMalformed[] = {
    {"type", [](TRITONBACKEND_Request& r) { r.inputs[0].type = TRITONSERVER_TYPE_FP32; },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects UINT8, got FP32"},
    {"bytes type", [](TRITONBACKEND_Request& r) { r.inputs[0].type = TRITONSERVER_TYPE_BYTES; },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects UINT8, got BYTES"},
    {"size",
     [](TRITONBACKEND_Request& r) {
       r.inputs[0].shape = {1, 4, 5, 6};
     },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects the shape [-1, 4, 5, 5], got [1, 4, 5, 6]"},
    {"rank",
     [](TRITONBACKEND_Request& r) {
       r.inputs[0].shape = {1, 100};
     },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects the shape [-1, 4, 5, 5], got [1, 100]"},
    {"no rank", [](TRITONBACKEND_Request& r) { r.inputs[0].shape = {}; },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects the shape [-1, 4, 5, 5], got []"},
    {"no rows", [](TRITONBACKEND_Request& r) { r.inputs[0].shape[0] = 0; },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects the shape [-1, 4, 5, 5], got [0, 4, 5, 5]"},
    {"negative", [](TRITONBACKEND_Request& r) { r.inputs[0].shape[0] = -1; },
     TRITONSERVER_ERROR_INVALID_ARG,
     "input 'x' expects the shape [-1, 4, 5, 5], got [-1, 4, 5, 5]"},
    {"huge",
     [](TRITONBACKEND_Request& r) { r.inputs[0].shape[0] = std::numeric_limits<int64_t>::max(); },
     TRITONSERVER_ERROR_INVALID_ARG, ""},
    {"more rows", [](TRITONBACKEND_Request& r) { r.inputs[0].shape[0] = 2; },
     TRITONSERVER_ERROR_INVALID_ARG,
     "input 'x' expects 200 bytes for the shape [2, 4, 5, 5], got 100"},
    {"bytes", [](TRITONBACKEND_Request& r) { r.inputs[0].bytes = 99; },
     TRITONSERVER_ERROR_INVALID_ARG,
     "input 'x' expects 100 bytes for the shape [1, 4, 5, 5], got 99"},
    {"buffer", [](TRITONBACKEND_Request& r) { r.inputs[0].buffers[0].bytes = 60; },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects 100 bytes, got 60 in its buffers"},
    {"no buffer", [](TRITONBACKEND_Request& r) { r.inputs[0].buffers.clear(); },
     TRITONSERVER_ERROR_INVALID_ARG, "input 'x' expects 100 bytes, got 0 in its buffers"},
    {"null", [](TRITONBACKEND_Request& r) { r.inputs[0].buffers[0].data = nullptr; },
     TRITONSERVER_ERROR_INVALID_ARG, "an input has a buffer without memory"},
    {"name", [](TRITONBACKEND_Request& r) { r.inputs[0].name = "X"; },
     TRITONSERVER_ERROR_INVALID_ARG, "unknown request input x"},
    {"output",
     [](TRITONBACKEND_Request& r) {
       r.wanted = {"z", "nothing"};
     },
     TRITONSERVER_ERROR_INVALID_ARG, "there is no output 'nothing'"},
    {"cancelled", [](TRITONBACKEND_Request& r) { r.cancelled = true; },
     TRITONSERVER_ERROR_CANCELLED, "the request was cancelled"},
    {"no memory", [](TRITONBACKEND_Request& r) { r.refuse_outputs = true; },
     TRITONSERVER_ERROR_UNAVAILABLE, "no memory for outputs"},
};

TEST(TritonHostile, MalformedRequestsHarmNoOther) {
  ServedGraph on("malformed", kConv);
  const Tensor sent = codes({1, 4, 5, 5}, 1);
  const Tensor want = answers(on.engine, {sent})[0];
  for (const Malformed& how : kMalformed) {
    SCOPED_TRACE(how.name);
    TRITONBACKEND_Request before = request({{"x", sent}}, {"z"});
    TRITONBACKEND_Request bad = request({{"x", sent}}, {"z"});
    TRITONBACKEND_Request after = request({{"x", sent}}, {"z"});
    how.spoil(bad);
    on.served.execute({&before, &bad, &after});
    EXPECT_EQ(bad.error, how.code);
    EXPECT_TRUE(how.message[0] == 0 || bad.message == how.message) << bad.message;
    for (const TRITONBACKEND_Request* one : {&before, &bad, &after}) expect_finished(*one);
    expect_answer(before, "z", want);
    expect_answer(after, "z", want);
    EXPECT_EQ(counts().errors, 0);
    EXPECT_EQ(counts().responses, 0);
  }
}

// Only the run finds out, and those that met it in a batch are answered nevertheless.
TEST(TritonHostile, ARunThatFailsIsTheFaultOfOneRequest) {
  ServedGraph on("lookup", kLookup);
  ASSERT_EQ(on.served.config()["max_batch_size"], 4);
  const std::vector<int64_t> good = {3, 1}, bad = {2, 77};
  const Tensor sent = Tensor::of<int64_t>(Shape{1, 2}, good);
  for (int i = 0; i < 3; ++i) {
    TRITONBACKEND_Request first = request({{"i", sent}}, {"y"});
    TRITONBACKEND_Request wrong = request({{"i", Tensor::of<int64_t>(Shape{1, 2}, bad)}}, {"y"});
    TRITONBACKEND_Request last = request({{"i", sent}}, {"y"});
    on.served.execute({&first, &wrong, &last});
    EXPECT_EQ(wrong.error, TRITONSERVER_ERROR_INVALID_ARG) << wrong.message;
    expect_answer(first, "y", answers(on.engine, {sent})[0]);
    expect_answer(last, "y", answers(on.engine, {sent})[0]);
    for (const TRITONBACKEND_Request* one : {&first, &wrong, &last}) expect_finished(*one);
    // Rows of padding are none of theirs.
    TRITONBACKEND_Request three = request({{"i", Tensor(Dtype::s64, Shape{3, 2})}}, {"y"});
    on.served.execute({&three});
    expect_answer(three, "y", answers(on.engine, {Tensor(Dtype::s64, Shape{3, 2})})[0]);
  }
}

struct Refused {
  Json config;
  int code;
  const char* message;
};

Json with(const char* key, const char* value) {
  return {{"parameters", {{key, {{"string_value", value}}}}}};
}

Json input(const char* type, const std::vector<int64_t>& dims) {
  return {{"max_batch_size", 2},
          {"input", Json::array({{{"name", "x"}, {"data_type", type}, {"dims", dims}}})}};
}

TEST(TritonHostile, ConfigurationsThatDoNotFitAreRefused) {
  const Server server;
  const SavedModel model("refused", engine_of(kConv));
  const std::vector<Refused> all = {
      {with("thread", "2"), TRITONSERVER_ERROR_INVALID_ARG,
       "the octet backend has no parameter 'thread'; did you mean 'threads'?"},
      {with("threads", "0"), TRITONSERVER_ERROR_INVALID_ARG,
       "parameter 'threads' is '0', expected a whole number from 1 to 256"},
      {with("batch_sizes", "1,x"), TRITONSERVER_ERROR_INVALID_ARG,
       "parameter 'batch_sizes' is 'x', expected a whole number from 1 to 1048576"},
      {with("warm_up", "perhaps"), TRITONSERVER_ERROR_INVALID_ARG,
       "parameter 'warm_up' is 'perhaps', expected true or false"},
      {with("precision", "int4"), TRITONSERVER_ERROR_INVALID_ARG,
       "parameter 'precision' is 'int4', expected int8, f32 or fastest"},
      {with("shapes", "y:4x5x5"), TRITONSERVER_ERROR_INVALID_ARG,
       "parameter 'shapes': the model has no input 'y'"},
      {with("shapes", "4x5xx"), TRITONSERVER_ERROR_INVALID_ARG,
       "parameter 'shapes' is '4x5xx', expected sizes of input 'x' like 3x224x224"},
      {with("shapes", "4x6x6"), TRITONSERVER_ERROR_INVALID_ARG, nullptr},
      {with("device", "npu:0"), TRITONSERVER_ERROR_INVALID_ARG, nullptr},
      {input("TYPE_FP32", {4, 5, 5}), TRITONSERVER_ERROR_INVALID_ARG,
       "input 'x': the configuration says TYPE_FP32, the engine has TYPE_UINT8"},
      {input("TYPE_UINT8", {4, 5, 6}), TRITONSERVER_ERROR_INVALID_ARG,
       "input 'x': the configuration says [4, 5, 6] after the batch, the engine has [4, 5, 5] "
       "after "
       "the batch"},
      {{{"input", Json::array({{{"name", "x"},
                                {"data_type", "TYPE_UINT8"},
                                {"dims", {4, 5, 5}},
                                {"optional", true}}})}},
       TRITONSERVER_ERROR_INVALID_ARG,
       "input 'x' is optional in the configuration: the engine needs all of them"},
      {{{"sequence_batching",
         {{"state", Json::array({{{"input_name", "h"}, {"output_name", "z"}}})}}}},
       TRITONSERVER_ERROR_INVALID_ARG,
       "the configuration has input 'h', which the engine has not"},
      {{{"sequence_batching",
         {{"state", Json::array({{{"input_name", "x"},
                                  {"output_name", "z"},
                                  {"data_type", "TYPE_UINT8"},
                                  {"dims", {4, 5, 5}}}})}}}},
       TRITONSERVER_ERROR_INVALID_ARG,
       "output 'z': the configuration says [4, 5, 5] after the batch, the engine has [2, 5, 5] "
       "after the batch"},
      {{{"output",
         Json::array({{{"name", "q"}, {"data_type", "TYPE_UINT8"}, {"dims", {2, 5, 5}}}})}},
       TRITONSERVER_ERROR_INVALID_ARG,
       "the configuration has output 'q', which the engine has not"},
  };
  for (const Refused& refused : all) {
    SCOPED_TRACE(refused.config.dump());
    try {
      const Served served(server, model.folder, refused.config);
      ADD_FAILURE();
    } catch (const Failed& failed) {
      EXPECT_EQ(failed.code(), refused.code);
      EXPECT_TRUE(refused.message == nullptr || failed.what() == std::string(refused.message))
          << failed.what();
    }
    EXPECT_EQ(counts().errors, 0);
    EXPECT_EQ(counts().messages, 0);
    EXPECT_EQ(counts().metrics, 0);
    EXPECT_EQ(counts().parameters, 0);
  }
}

TEST(TritonHostile, FilesThatAreNoModelsAreRefused) {
  const Server server;
  const Folder empty("empty");
  const auto refused = [&](const Folder& folder) {
    try {
      const Served served(server, folder);
    } catch (const Failed& failed) {
      return std::pair<int, std::string>(failed.code(), failed.what());
    }
    return std::pair<int, std::string>(-1, "");
  };
  const std::filesystem::path folder = empty.version(1);
  EXPECT_EQ(refused(empty).first, TRITONSERVER_ERROR_NOT_FOUND);
  EXPECT_EQ(refused(empty).second, folder.string() + " has neither model.octet nor model.onnx");
  std::filesystem::copy_file(OCTET_SOURCE_DIR "/README.md", folder / "model.octet");
  EXPECT_EQ(refused(empty).first, TRITONSERVER_ERROR_INVALID_ARG);
  std::filesystem::remove(folder / "model.octet");
  std::filesystem::copy_file(OCTET_SOURCE_DIR "/examples/digits/digits.onnx",
                             folder / "model.onnx");
  EXPECT_EQ(refused(empty).first, TRITONSERVER_ERROR_INVALID_ARG);
  EXPECT_NE(refused(empty).second.find("there is no calibration cache"), std::string::npos);
}

// Which would tell whoever may load models what lies elsewhere on the server.
TEST(TritonHostile, FilesOutsideOfTheVersionAreNotOpened) {
  const Server server;
  const SavedModel model("inside", engine_of(kConv));
  std::filesystem::copy_file(OCTET_SOURCE_DIR "/examples/digits/digits.onnx",
                             model.folder.version(1) / "model.onnx");
  const auto refused = [&](Json config) {
    try {
      const Served served(server, model.folder, config);
    } catch (const Failed& failed) {
      return std::string(failed.what());
    }
    return std::string();
  };
  const std::string folder = " expected a file in the version's folder";
  for (const char* name : {"/etc/passwd", "../1/model.octet", "x/../../1/model.octet"}) {
    EXPECT_EQ(refused({{"default_model_filename", name}}),
              "default_model_filename is '" + std::string(name) + "'," + folder);
    Json cached = with("calibration_cache", name);
    cached["default_model_filename"] = "model.onnx";
    EXPECT_EQ(refused(cached),
              "parameter 'calibration_cache' is '" + std::string(name) + "'," + folder);
  }
}

TEST(TritonHostile, BackendsRefuseWrongCommandLines) {
  const std::pair<const char*, const char*> wrong[] = {{"threads", "many"},
                                                       {"memory-limit", "12Q"},
                                                       {"memory-limit", "-1"},
                                                       {"default-max-batch-size", "-2"}};
  for (const auto& [key, value] : wrong)
    EXPECT_THROW(const Server server(key, value), Failed) << key << value;
  EXPECT_EQ(counts().errors, 0);
  EXPECT_EQ(counts().families, 0);
}

int64_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

int64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// What a server lives through: loads and unloads, and malformed requests among good ones. In small, or OCTET_TRITON_SOAK loads of 200 requests.
TEST(TritonHostile, NothingIsLeftBehind) {
  const Engine engine = engine_of(kConv);
  const SavedModel model("soak", engine);
  const Tensor sent = codes({3, 4, 5, 5}, 1);
  const Tensor want = answers(engine, {sent})[0];
  {
    const char* asked = std::getenv("OCTET_TRITON_SOAK");
    const int loads = asked != nullptr ? std::atoi(asked) : 5;
    const Server server;
    const int64_t open = descriptors();
    int64_t heap = 0;
    for (int load = 0; load < loads; ++load) {
      if (load == loads / 2) heap = heap_bytes();
      Served served(server, model.folder, Json::object(), 2);
      for (size_t i = 0; i < 200; ++i) {
        TRITONBACKEND_Request one = request({{"x", sent}}, {"z"});
        if (i % 20 == 7) kMalformed[i / 20 % std::size(kMalformed)].spoil(one);
        served.execute({&one}, i % 2);
        expect_finished(one);
        if (i % 20 != 7) expect_answer(one, "z", want);
      }
    }
    EXPECT_EQ(counts().metrics, 0);
    EXPECT_EQ(descriptors(), open);
    // Less than one byte of each request.
    EXPECT_TRUE(loads < 100 || heap_bytes() - heap < int64_t{200} * loads / 2)
        << heap_bytes() - heap;
  }
  EXPECT_EQ(counts().errors, 0);
  EXPECT_EQ(counts().messages, 0);
  EXPECT_EQ(counts().responses, 0);
  EXPECT_EQ(counts().families, 0);
}

}  // namespace
}  // namespace octet::triton_test
