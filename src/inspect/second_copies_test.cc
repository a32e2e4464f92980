// SPDX-License-Identifier: Apache-2.0
// What an engine holds beside the graph that runs (the graph with Q/DQ, manifest, provenance), edited under right checksums: whoever reads
// it gets a result or one Error. OCTET_EDITS=N tries N of each kind, OCTET_EDITS_SEED others.
#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/text.h"
#include "inspect/json.h"
#include "octet/case.h"
#include "octet/export.h"
#include "octet/inspect.h"
#include "octet/limits.h"
#include "octet/provenance.h"
#include "ops/registry.h"
#include "runtime/edit_testing.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"
#include "runtime/inside.h"
#include "runtime/kept_graph.h"

namespace octet {
namespace {

enum : size_t { kManifest, kGraph, kBlobs, kQdq };

// Every form that the writer of ONNX files knows.
constexpr std::string_view kKept = R"(graph "kept"(%x: f32[1,4,8,8]) {
  const %s: f32[] = {0.0625}
  const %z: u8[] = {128}
  const %zs: s8[] = {0}
  const %w: s8[4,4,1,1] = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8}
  const %ws: f32[4] = {0.5, 0.25, 0.125, 0.0625}
  const %wz: s8[4] = {0, 0, 0, 0}
  const %b: f32[4] = {0.5, -0.5, 1.0, -1.0}
  const %m: f32[8,8] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}
  const %mb: f32[8] = {1, 2, 3, 4, 5, 6, 7, 8}
  const %axes: s64[1] = {3}
  const %pads: s64[8] = {0, 0, 1, 1, 0, 0, 1, 1}
  const %scales: f32[4] = {1.0, 1.0, 2.0, 2.0}
  const %shape: s64[2] = {4, 64}
  %q: u8[1,4,8,8] @(0.0625, 128) = QuantizeLinear(%x, %s, %z) name "q"
  %d: f32[1,4,8,8] = DequantizeLinear(%q, %s, %z) name "d"
  %wd: f32[4,4,1,1] = DequantizeLinear(%w, %ws, %wz) {axis=0} name "wd"
  %c: f32[1,4,8,8] = Conv(%d, %wd, %b, %d) {activation="leaky_relu", activation_alpha=0.25} name "conv" from ["conv", "sum", "act"]
  %qc: s8[1,4,8,8] @(0.0625, 0) = QuantizeLinear(%c, %s, %zs) name "qc"
  %dc: f32[1,4,8,8] = DequantizeLinear(%qc, %s, %zs) name "dc"
  %g: f32[1,4,8,8] = Gelu(%dc) name "gelu"
  %sw: f32[1,4,8,8] = Swish(%g) {alpha=1.5} name "swish"
  %mm: f32[1,4,8,8] = MatMul(%sw, %m, %mb) {activation="relu"} name "mm"
  %sm: f32[1,4,8,8] = Softmax(%mm) {axis=-1} name "softmax"
  %r: f32[1,4,8,1] = ReduceMean(%sm, %axes) {keepdims=1} name "mean"
  %a: f32[1,4,8,8] = Add(%sm, %r) {activation="clip", activation_max=6.0, activation_min=0.0} name "add"
  %p: f32[1,4,10,10] = Pad(%a, %pads) {mode="constant"} name "pad"
  %mp: f32[1,4,5,5] = MaxPool(%p) {kernel_shape=ints[2, 2], strides=ints[2, 2]} name "pool"
  %up: f32[1,4,10,10] = Resize(%mp, _, %scales) {mode="nearest"} name "resize"
  %h: f16[1,4,10,10] = Cast(%up) {to="f16"} name "cast"
  %f: f32[1,4,10,10] = Cast(%h) {to="f32"} name "back"
  %y: f32[1,2,10,10], %y2: f32[1,2,10,10] = Split(%f, _) {axis=1, num_outputs=2} name "split"
  return %y, %c
})";

size_t number_of(const char* variable, size_t usual) {
  const char* text = std::getenv(variable);
  return text == nullptr ? usual : std::strtoul(text, nullptr, 10);
}

std::vector<std::string> words() {
  std::vector<std::string> words{"f32",     "f16",    "s8",   "u8",    "s32",       "s64",  "s4",
                                 "boolean", "axis",   "to",   "const", "return",    "name", "as",
                                 "ints",    "tensor", "true", "null",  "block_size"};
  for (const OpDef* op : op_registry().all()) words.emplace_back(op->name);
  return words;
}

// A whole engine that keeps the graph above.
std::vector<std::byte> engine_bytes() {
  Model model;
  model.graph = parse_graph(R"(graph "runs"(%x: f32[1,4,8,8]) {
    %y: f32[1,4,8,8] = Relu(%x) name "relu" from ["/relu"] as "int8" "because"
    return %y
  })",
                            find_op);
  model.source = "kept.onnx";
  model.with_qdq = std::make_shared<const KeptGraph>(parse_graph(kKept, find_op));
  Provenance made;
  made.version = "1.2.3";
  made.compiler = "GNU 12";
  made.model_hash = "01";
  made.data_hash = "02";
  made.input_shapes = {{"x", Shape{1, 4, 8, 8}}};
  made.given = {{"x", -1.0f, 1.0f}};
  model.provenance = to_json(made);
  model.preprocess = Preprocess();
  return write_engine(model);
}

void export_all(const Engine& engine) {
  for (const ExportTarget target :
       {ExportTarget::onnxruntime, ExportTarget::openvino, ExportTarget::tensorrt})
    export_onnx(engine, {.target = target});
}

// All that the program reads of an engine without running it.
void read_all(const Engine& engine) {
  inspect(engine);
  provenance(engine);
  make_case(engine);
  engine.to_bytes();
}

// Whether it succeeded: an Error is a fine end unless it is ours.
template <class Action>
bool survives(const Action& action, const std::string& text) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what() << "\n" << text;
    return false;
  }
}

// The number of edits that `action` took for good.
template <class Action>
size_t edited(size_t section, size_t usual, const Action& action) {
  const std::vector<std::byte> file = engine_bytes();
  test::TextEdits edits(test::section_text(file, section), words(),
                        static_cast<u32>(number_of("OCTET_EDITS_SEED", 1)));
  size_t accepted = 0;
  for (size_t i = 0, count = number_of("OCTET_EDITS", usual); i < count; ++i) {
    const std::string text = edits.next();
    const std::vector<std::byte> made = test::with_section(file, section, text);
    if (survives([&] { action(Engine::load(made)); }, text)) ++accepted;
  }
  return accepted;
}

TEST(SecondCopies, TheEngineItselfIsFine) {
  const Engine engine = Engine::load(engine_bytes());
  export_all(engine);
  read_all(engine);
}

TEST(SecondCopies, AKeptGraphIsVerifiedAsAnImportedModelIs) {
  const size_t accepted = edited(kQdq, 200, export_all);
  EXPECT_GT(accepted, 0u);
}

TEST(SecondCopies, AManifestIsReadOrRefused) { EXPECT_GT(edited(kManifest, 200, read_all), 0u); }

TEST(SecondCopies, AnOmittedInputOfAKeptNodeIsNamed) {
  for (const std::string_view op : {"QuantizeLinear(%x", "DequantizeLinear(%q"}) {
    std::string text(kKept);
    const size_t at = text.find(op) + op.size() - 2;
    text.replace(at, 2, "_");
    const Engine engine = Engine::load(test::with_section(engine_bytes(), kQdq, text));
    try {
      export_onnx(engine);
      FAIL() << op;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("input 0 is omitted"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace octet
