// SPDX-License-Identifier: Apache-2.0
#include "octet/case.h"

#include <gtest/gtest.h>

#include "core/content_hash.h"
#include "core/file.h"
#include "data/test_support.h"
#include "data/zip_writer.h"
#include "graph/text.h"
#include "inspect/cases/case_json.h"
#include "octet/npz.h"
#include "octet/reproduce.h"
#include "ops/registry.h"
#include "runtime/inside.h"

namespace octet::test {
namespace {

Engine product(const char* weights) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(fmt::format(R"(graph "g"(%x: f32[?,2]) {{
    const %w: f32[2,2] = {{{}}}
    %y: f32[?,2] = MatMul(%x, %w) name "fc" from ["/fc"] as "f32" float_build "built without INT8"
    return %y
  }})",
                                         weights),
                             find_op);
  model->source = "g.onnx";
  return Inside::engine(std::move(model));
}

Case with_run(const Engine& engine) {
  const std::vector<f32> x = {1, 2};
  CaseRun run{.name = "a.npy", .inputs = {Tensor::of<f32>(Shape{1, 2}, x)}, .outputs = {}};
  run.outputs = engine.make_context().run(run.inputs);
  Case made = make_case(engine, {Shape{1, 2}});
  made.runs.push_back(std::move(run));
  return made;
}

Case whole() {
  Case made = with_run(product("1.0, 2.0, 3.0, 4.0"));
  made.commands = {"octet build g.onnx"};
  made.provenance = Provenance();
  made.provenance->version = "1";
  made.provenance->samples = 3;
  made.cache = parse_calibration_cache("TRT-8601-EntropyCalibration2\nx: 3c010a14\n", "c.cache");
  made.cache->details = "{}";
  return made;
}

std::vector<u8> bytes_at(const std::filesystem::path& path) { return read_file(path, 1 << 20); }

TEST(Case, ComesBackWhole) {
  const TempFolder folder;
  const Case made = whole();
  save_case(made, folder / "a.zip");
  const Case again = load_case(folder / "a.zip");
  EXPECT_EQ(again.version, octet_version());
  EXPECT_EQ(again.device.level, made.device.level);
  EXPECT_EQ(again.commands, made.commands);
  EXPECT_EQ(again.decisions, made.decisions);
  ASSERT_EQ(again.decisions.size(), 1u);
  EXPECT_EQ(again.decisions[0].precision, "f32");
  EXPECT_EQ(again.kernels, made.kernels);
  EXPECT_EQ(again.provenance->samples, 3);
  EXPECT_EQ(again.cache->details, "{}");
  EXPECT_EQ(again.runs[0].outputs[0].as<f32>()[1], 10.0f);
  save_case(again, folder / "b.zip");
  EXPECT_EQ(bytes_at(folder / "a.zip"), bytes_at(folder / "b.zip"));
}

TEST(Case, OfAnEngineIsReproduced) {
  Case made = with_run(product("1.0, 2.0, 3.0, 4.0"));
  Reproduction result = reproduce(made);
  EXPECT_EQ(result.how, Reproduction::How::kept);
  EXPECT_TRUE(result.same_engine);
  EXPECT_TRUE(result.differences.empty());
  EXPECT_EQ(result.equal_outputs, 1);
  made.engine = Tensor();
  EXPECT_EQ(reproduce(made).how, Reproduction::How::nothing);
}

TEST(Case, DifferencesComeInTheOrderOfTheirCauses) {
  Case made = with_run(product("1.0, 2.0, 3.0, 4.0"));
  made.version = "0.0.1";
  made.device.level = "other";
  made.kernels.emplace_back("fc", "another");
  made.decisions[0].precision = "int8";
  ReproduceOptions options;
  options.engine = product("1.0, 2.0, 3.0, 5.0");
  const Reproduction result = reproduce(made, options);
  std::vector<std::string> what;
  for (const Difference& one : result.differences) what.push_back(one.what);
  EXPECT_EQ(what, (std::vector<std::string>{"octet", "isa", "decision of '/fc'",
                                            "kernels of 1 of 2 layers", "engine_hash",
                                            "output 'y' of 'a.npy'"}));
  EXPECT_FALSE(result.differences[1].changes_results);
  EXPECT_TRUE(result.differences[2].changes_results);
  const Difference& output = result.differences.back();
  EXPECT_TRUE(output.changes_results && output.measured);
  EXPECT_EQ(output.recorded, "f32[1,2] with 10 at [1]");
  EXPECT_NE(output.here.find("f32[1,2] with 12 at [1]; SQNR "), std::string::npos) << output.here;
}

TEST(Case, OtherInputsAreADifference) {
  Case made = with_run(product("1.0, 2.0, 3.0, 4.0"));
  const std::vector<f32> x = {1, 2, 3};
  made.runs[0].inputs = {Tensor::of<f32>(Shape{1, 3}, x)};
  Reproduction result = reproduce(made);
  EXPECT_EQ(result.runs, 0);
  ASSERT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.differences[0].what, "sizes of inputs");
  made.inputs = {"other"};
  result = reproduce(made);
  EXPECT_EQ(result.differences[0].what, "inputs");
  EXPECT_TRUE(result.differences[0].changes_results);
}

std::span<const u8> u8s(std::string_view text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

using Files = std::vector<std::pair<std::string, std::string>>;

// An archive of these files, of which case.json names those that `named` lists, with their hashes.
std::filesystem::path archive(const TempFolder& folder, const Case& from, const Files& files,
                              const CaseFiles& named) {
  ZipWriter zip(folder / "a.zip");
  zip.add("case.json", {u8s(write_case_json(from, named))});
  for (const auto& [name, text] : files) zip.add(name, {u8s(text)});
  zip.commit();
  return folder / "a.zip";
}

std::string hash_of_text(std::string_view text) {
  return digest_of(std::as_bytes(std::span(text))).hex();
}

void refuse_case(const Case& from, const Files& files, const CaseFiles& named,
                 const std::string& says) {
  const TempFolder folder;
  const auto path = archive(folder, from, files, named);
  expect_error([&] { load_case(path); }, Error::Code::invalid_argument, {"a.zip", says});
}

TEST(Case, FilesAreThoseThatItNames) {
  const std::string hash = hash_of_text("x");
  refuse_case({}, {{"model.onnx", "x"}}, {}, "which its case.json does not name");
  refuse_case({}, {}, {{"model.onnx", hash}}, "has no 'model.onnx'");
  refuse_case({}, {{"model.onnx", "y"}}, {{"model.onnx", hash}}, "its hash is");
  refuse_case({}, {{"notes.txt", "x"}}, {{"notes.txt", hash}}, "is no part of a case");
  refuse_case({}, {{"engine.octet", "x"}}, {{"engine.octet", hash}}, "not the one it tells of");
  refuse_case({}, {{"calibration.cache", "x"}}, {{"calibration.cache", hash}}, "calibration.cache");
  refuse_case({}, {{"calibration.cache.json", "x"}}, {{"calibration.cache.json", hash}},
              "is no part of a case");
  refuse_case({}, {}, {{"case.json", hash}}, "has no 'case.json'");
  refuse_case({}, {{"../x", "x"}}, {{"../x", hash}}, "path out of the archive");
  Case run;
  run.inputs = {"x"};
  run.runs.resize(1);
  refuse_case(run, {}, {}, "has no 'runs/0/inputs/0.npy'");
  refuse_case(run, {{"runs/0/inputs/0.npy", "x"}}, {{"runs/0/inputs/0.npy", hash}}, "npy");
}

TEST(Case, WhatIsNoneSaysSo) {
  const TempFolder folder;
  folder.write("a.zip", std::string("no archive"));
  expect_error([&] { load_case(folder / "a.zip"); }, Error::Code::invalid_argument, {"a.zip"});
  write_npz(folder / "a.npz", {});
  expect_error([&] { load_case(folder / "a.npz"); }, Error::Code::invalid_argument, {"is no case"});
}

TEST(Case, FieldsOfOtherTypesAreRefused) {
  const std::string good = write_case_json(whole(), {});
  const std::pair<const char*, const char*> changes[] = {
      {"\"octet-case\"", "\"other\""},
      {"\"version\": 1", "\"version\": 2"},
      {"\"chip\": \"", "\"chip\": 1, \"was\": \""},
      {"\"commands\": [", "\"commands\": [1, "},
      {"\"node\"", "\"other\""},
      {"\"runs\": [", "\"runs\": [[], "},
      {"\"files\": {}", "\"files\": {\"a\": 1}"},
      {"\"files\": {}", "\"files\": []"},
      {"\"kernels\": [", "\"kernels\": [1, "}};
  for (const auto& [from, to] : changes) {
    std::string text = good;
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, std::string_view(from).size(), to);
    Case into;
    CaseFiles files;
    expect_error([&] { read_case_json(text, "case.json", into, files); },
                 Error::Code::invalid_argument, {"case.json"});
  }
}

TEST(Case, EveryPrefixAndFlippedByteIsSurvived) {
  const TempFolder folder;
  save_case(whole(), folder / "a.zip");
  const std::vector<u8> good = bytes_at(folder / "a.zip");
  for (size_t size = 0; size < good.size(); size += 61) {
    const auto path = folder.write(
        "b.zip", std::vector<u8>(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)));
    EXPECT_THROW(load_case(path), Error) << size;
  }
  for (size_t at = 0; at < good.size(); at += 29) {
    std::vector<u8> bytes = good;
    bytes[at] ^= 0x41;
    const auto path = folder.write("b.zip", bytes);
    expect_survives([&] { load_case(path); });
  }
}

TEST(Case, ACacheOfAnotherEngineIsRefused) {
  Case made = whole();
  made.provenance->cache_hash = "00";
  expect_error([&] { add_cache(made, *made.cache); }, Error::Code::invalid_argument,
               {"c.cache", "not the cache"});
}

}  // namespace
}  // namespace octet::test
