// SPDX-License-Identifier: Apache-2.0
// Any graph text, then after a NUL byte any blobs, as the graph with Q/DQ that an engine keeps: written as ONNX for every runtime.
#include "fuzz/fuzz.h"
#include "octet/export.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"
#include "runtime/inside.h"

namespace octet::fuzz {
namespace {

constexpr std::string_view kManifest =
    R"({"calibration_samples":0,"producer":"","range_method":"","source":""})";
constexpr std::string_view kRuns =
    R"(graph "g"(%x: f32[2]) { %y: f32[2] = Relu(%x) name "r" return %y })";

void run(std::string_view text) {
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string_view blobs = text.substr(std::min(end + 1, text.size()));
  const auto file = test::forge(kManifest, kRuns, blobs, text.substr(0, end));
  const Engine engine = Inside::engine(
      std::make_shared<const Model>(read_engine(test::exact_copy(file), file.size())));
  for (const ExportTarget target :
       {ExportTarget::onnxruntime, ExportTarget::openvino, ExportTarget::tensorrt})
    export_onnx(engine, {.target = target});
}

void test_one(const Input& input) {
  survives([&] { run(input.text()); });
}

}  // namespace

const Target kTarget{.memory = s64{1} << 20, .run = test_one};

}  // namespace octet::fuzz
