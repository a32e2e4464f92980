// SPDX-License-Identifier: Apache-2.0
// Engine files from somebody who knows the format: every checksum is right and something else is wrong (P5). Names of tests
// begin with the cases of SECURITY.md.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/file.h"
#include "core/folder_testing.h"
#include "octet/engine.h"
#include "octet/limits.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"
#include "runtime/inside.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifest =
    R"({"calibration_samples":0,"producer":"","range_method":"","source":""})";
constexpr std::string_view kGraph = R"(graph "g"(%x: f32[2,3]) {
  const %w: f32[3,4] = #0
  %y: f32[2,4] = MatMul(%x, %w) name "fc"
  return %y
})";

// A blob section: count, then offset and size of each, then 64 bytes aligned data.
std::string blobs(u64 count, u64 offset, u64 bytes) {
  std::string section(128, '\0');
  const u64 words[] = {count, offset, bytes};
  std::memcpy(section.data(), words, sizeof words);
  return section;
}

std::string error_of(std::span<const std::byte> file) {
  try {
    auto model = std::make_shared<Model>(read_engine(exact_copy(file), file.size()));
    Context context = Inside::context(std::move(model), {});
    context.run(std::vector<Tensor>{Tensor(Dtype::f32, {2, 3})});
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    return error.what();
  }
  return "";
}

std::string error_of(std::string_view graph, const std::string& blob_section = blobs(1, 64, 48)) {
  return error_of(forge(kManifest, graph, blob_section));
}

// The file with one change in its head, and right checksums.
template <class Change>
std::string error_after(Change change) {
  std::vector<std::byte> file = forge(kManifest, kGraph, blobs(1, 64, 48));
  FileHead head;
  std::memcpy(&head, file.data(), sizeof head);
  change(head);
  std::memcpy(file.data(), &head, sizeof head);
  repair(file);
  return error_of(file);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(EngineHostile, TheForgedFileItselfIsFine) { EXPECT_EQ(error_of(kGraph), ""); }

TEST(EngineHostile, E04_SectionsOutsideOverlappingUnalignedWrapping) {
  const auto graph_at = [](u64 offset, u64 bytes) {
    return error_after([=](FileHead& head) {
      head.sections[1].offset = offset;
      head.sections[1].bytes = bytes;
    });
  };
  const u64 most = ~u64{0};
  for (const auto& [offset, bytes] : {std::pair<u64, u64>{1 << 20, 10},
                                      {192, most},
                                      {most - 63, 64},
                                      {most, 1},
                                      {0, 64},
                                      {128, 64},
                                      {193, 64},
                                      {most - 63, most}}) {
    EXPECT_NE(graph_at(offset, bytes), "") << offset << " + " << bytes;
  }
  EXPECT_NE(error_after([](FileHead& head) { std::swap(head.sections[0], head.sections[1]); }), "");
  EXPECT_NE(error_after([](FileHead& head) { head.header.file_bytes = ~u64{0}; }), "");
}

TEST(EngineHostile, E05_OtherFormatsAndByteOrder) {
  EXPECT_TRUE(contains(error_after([](FileHead& head) { head.header.format = kEngineFormat + 1; }),
                       "format 4"));
  // A file of the other byte order has 1 in the highest byte.
  EXPECT_TRUE(contains(error_after([](FileHead& head) { head.header.format = 1u << 24; }),
                       "build the engine again"));
}

TEST(EngineHostile, E06_CountsAndNamesThatCannotBe) {
  const u64 most = ~u64{0};
  EXPECT_NE(error_of(kGraph, blobs(u64{1} << 63, 64, 48)), "");
  EXPECT_NE(error_of(kGraph, blobs(0, 64, 48)), "");
  EXPECT_NE(error_of(kGraph, blobs(1, 64, most)), "");
  EXPECT_NE(error_of(kGraph, blobs(1, most - 63, 128)), "");
  EXPECT_NE(error_of(kGraph, blobs(1, 65, 48)), "");
  EXPECT_NE(error_of(kGraph, ""), "");
  EXPECT_NE(error_after([](FileHead& head) { head.header.sections = ~0u; }), "");
  // A name of any length is taken from the text, never from a count.
  const std::string name(1 << 20, 'n');
  EXPECT_EQ(error_of("graph \"g\"(%x: f32[2,3]) { %y: f32[2,3] = Relu(%x) name \"" + name +
                     "\" return %y }"),
            "");
}

TEST(EngineHostile, E07_IdsCyclesAndTypes) {
  EXPECT_NE(error_of("graph \"g\"(%x: f32[2,3]) { return %nobody }"), "");
  EXPECT_NE(error_of("graph \"g\"(%x: f32[2,3]) { %a: f32[2,3] = Relu(%b) name \"a\" "
                     "%b: f32[2,3] = Relu(%a) name \"b\" return %b }"),
            "");
  EXPECT_NE(error_of("graph \"g\"(%x: f32[2,3]) { %x: f32[2,3] = Relu(%x) name \"a\" return %x }"),
            "");
  EXPECT_NE(error_of("graph \"g\"(%x: f32[2,3]) { const %w: f32[3,4] = #1 return %w }"), "");
  // Arena offsets are no part of the file: a plan is made anew from shapes that are inferred anew, whatever the file says.
  EXPECT_EQ(error_of("graph \"g\"(%x: f32[2,3]) { %y: f32[9,9] = Relu(%x) name \"r\" return %y }"),
            "");
}

TEST(EngineHostile, E08_UnknownOperatorsAndBlobsOfAnotherSize) {
  EXPECT_TRUE(contains(
      error_of("graph \"g\"(%x: f32[2,3]) { %y: f32[2,3] = Rm(%x) name \"r\" return %y }"), "Rm"));
  EXPECT_TRUE(contains(error_of(kGraph, blobs(1, 64, 44)), "48"));
}

TEST(EngineHostile, E10_NoSectionButTheThree) {
  EXPECT_NE(
      error_after([](FileHead& head) { std::memcpy(head.sections[2].name, "code\0\0\0\0", 8); }),
      "");
  EXPECT_NE(error_after([](FileHead& head) { head.header.sections = 4; }), "");
}

// The border around a padded image is filled by one half of the engine and read by the other.
TEST(EngineHostile, E15_ZeroPointsOfWhichOneHalfContradictsTheOther) {
  const auto graph = [](s32 value, s32 attribute) {
    return fmt::format(
        "graph \"g\"(%x: f32[2,3]) {{ const %s: f32[] = {{0.5}} const %z: u8[] = {{3}} const %f: "
        "s64[4] = {{1, 1, 2, 3}} "
        "const %w: s8[1,1,3,3] = {{1, 2, 3, 4, 5, 6, 7, 8, 9}} const %m: f32[1] = {{0.5}} "
        "%q: u8[2,3] @(0.5, {0}) = QuantizeLinear(%x, %s, %z) name \"q\" "
        "%i: u8[1,1,2,3] @(0.5, {0}) = Reshape(%q, %f) name \"r\" "
        "%y: u8[1,1,2,3] = QConv(%i, %w, _, %m) {{input_zero_points=ints[{1}], pads=ints[1, 1, 1, "
        "1]}} name \"c\" "
        "return %y }}",
        value, attribute);
  };
  EXPECT_EQ(error_of(graph(3, 3)), "");
  EXPECT_TRUE(contains(error_of(graph(3, 5)),
                       "value 'i' has zero point 3, and node 'c' (QConv) takes it for 5"));
  EXPECT_TRUE(contains(error_of(graph(200, 3)), "zero point 200"));
}

TEST(EngineHostile, MemoryThatItAsksForIsLimited) {
  Limits limits;
  limits.memory = s64{1} << 30;
  set_limits(limits);
  const std::string huge = error_of(
      "graph \"g\"(%x: f32[2,3]) { const %s: s64[2] = {1048576, 1048576} const %v: f32[] = {1.0} "
      "%y: f32[1048576,1048576] = Expand(%v, %s) name \"e\" return %y }");
  set_limits({});
  EXPECT_TRUE(contains(huge, "needs 4 TiB, limit 1 GiB")) << huge;
}

TEST(EngineHostile, ManifestsOfManyValues) {
  std::string list = "[[]";
  for (int i = 0; i < 200'000; ++i) list += ",[]";
  for (const char* key : {"source", "x"}) {
    const std::string manifest =
        "{\"" + std::string(key) + "\":" + list + "]," + std::string(kManifest).substr(1);
    const std::string error = error_of(forge(manifest, kGraph, blobs(1, 64, 48)));
    EXPECT_TRUE(contains(error, "manifest: more than 100000 values")) << error;
  }
}

class EngineFiles : public test::InFolder {
 protected:
  void SetUp() override {
    path_ = folder_ / "a.octet";
    file_ = forge(kManifest, kGraph, blobs(1, 64, 48));
  }

  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  Model model() const { return read_engine(exact_copy(file_), file_.size()); }

  fs::path path_;
  std::vector<std::byte> file_;
};

// An engine is read into memory, so that cutting the file afterwards changes nothing.
TEST_F(EngineFiles, E12_TruncatedAfterOpening) {
  save_engine(model(), path_);
  const Engine engine = Engine::load(path_);
  fs::resize_file(path_, 0);
  Context context = engine.make_context();
  EXPECT_EQ(context.run(std::vector<Tensor>{Tensor(Dtype::f32, {2, 3})}).size(), 1u);
}

TEST_F(EngineFiles, E13_KilledWhileWriting) {
  save_engine(model(), path_);
  const auto before = read_file(path_, 1 << 20);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile half(path_);
    half.write(std::vector<u8>(1000, 7));
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(files(), 2u);
  { AtomicFile(path_).write(std::vector<u8>(10)); }
  EXPECT_EQ(files(), 2u) << "a temporary file whose writer lives is not touched";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(read_file(path_, 1 << 20), before);
  save_engine(model(), path_);
  EXPECT_EQ(files(), 1u) << "the next writer removes what a dead one left";
  ::close(ready[0]);
  ::close(ready[1]);
}

// A limit on the size of files stands for a full disk: writing fails halfway.
TEST_F(EngineFiles, E13_DiskFull) {
  save_engine(model(), path_);
  const auto before = read_file(path_, 1 << 20);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &small);
    try {
      save_engine(model(), path_);
    } catch (const Error& error) {
      ::_exit(error.code() == Error::Code::io ? 7 : 1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(read_file(path_, 1 << 20), before);
  EXPECT_EQ(files(), 1u);
}

// The last rename wins and no file is ever a mixture.
TEST_F(EngineFiles, E14_TwoWritersOfOneFile) {
  std::vector<std::jthread> writers;
  for (u8 fill : {u8{1}, u8{2}}) {
    writers.emplace_back([this, fill] {
      for (int i = 0; i < 50; ++i) {
        AtomicFile file(path_);
        for (int part = 0; part < 8; ++part) file.write(std::vector<u8>(512, fill));
        file.commit();
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    if (!fs::exists(path_)) continue;
    const auto bytes = read_file(path_, 1 << 20);
    ASSERT_EQ(bytes, std::vector<u8>(4096, bytes.at(0)));
  }
  writers.clear();
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace octet::test
