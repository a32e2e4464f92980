// SPDX-License-Identifier: Apache-2.0
// Every model of the shared generator of hostile models ends in success or one error, and so does running it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "core/folder_testing.h"
#include "graph/interpret.h"
#include "onnx/import.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGenerator = OCTET_SOURCE_DIR "/../shared/hostile/make_hostile_models.py";

constexpr s64 kMaxBytes = s64{1} << 30;

class Hostile : public test::InFolder {
 protected:
  void SetUp() override {
    if (!fs::exists(kGenerator)) GTEST_SKIP() << "needs " << kGenerator;
    const char* named = std::getenv("OCTET_PYTHON");
    for (const char* python :
         {named != nullptr ? named : "python3", OCTET_SOURCE_DIR "/.venv/bin/python"}) {
      const std::string command =
          fmt::format("'{}' '{}' '{}' >/dev/null 2>&1", python, kGenerator, folder_.string());
      if (std::system(command.c_str()) == 0) return;
    }
    GTEST_SKIP() << "no Python with the packages onnx and numpy";
  }
};

Tensor zeros(TensorType type) {
  for (int i = 0; i < type.shape.rank(); ++i) {
    if (type.shape[i] < 0) type.shape[i] = 1;
  }
  return {type.dtype, type.shape};
}

// "ok" or the error's text; what must not happen is a crash, another exception, or Error(internal).
std::string outcome(const fs::path& file) {
  try {
    const Graph graph = import_onnx(file);
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs) inputs.push_back(zeros(graph.value(id).type));
    interpret(graph, inputs, nullptr, kMaxBytes);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << file << ": " << error.what();
    return error.what();
  }
  return "ok";
}

TEST_F(Hostile, EveryModelEndsInSuccessOrOneError) {
  // Models that are not malformed: their oddity is one that inference survives.
  const std::set<std::string> harmless = {"i06_nested_if_20",  "i46_q_scale_denorm",
                                          "i50_name_bad_utf8", "i50_name_hostile",
                                          "i51_nodes_200k",    "i54_nan_weights"};
  size_t models = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() != ".onnx") continue;
    ++models;
    const std::string name = entry.path().stem().string();
    const std::string result = outcome(entry.path());
    const bool unsupported = result.find("operators that Octet lacks") != result.npos;
    if (name.starts_with("valid_") || harmless.contains(name)) {
      EXPECT_TRUE(result == "ok" || unsupported) << name << ": " << result;
    } else {
      EXPECT_NE(result, "ok") << name;
    }
  }
  EXPECT_GT(models, 100u);
}

}  // namespace
}  // namespace octet
