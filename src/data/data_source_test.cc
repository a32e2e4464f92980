// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

#include "data/npz.h"
#include "data/test_support.h"
#include "octet/data.h"

namespace octet::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TensorInfo kImageInput{"image", {Dtype::f32, {-1, 3, 4, 6}}};
const TensorInfo kDigitsInput{"image", {Dtype::f32, {-1, 1, 8, 8}}};
const TensorInfo kTokensInput{"tokens", {Dtype::s64, {-1, 5}}};

DataSource open(const DataOptions& options, const TensorInfo& input) {
  return DataSource::open(options, std::span(&input, 1));
}

DataOptions at(const std::filesystem::path& data) {
  DataOptions options;
  options.data = data;
  return options;
}

void refuse(const DataOptions& options, const TensorInfo& input,
            const std::vector<std::string>& says,
            Error::Code code = Error::Code::invalid_argument) {
  expect_error([&] { open(options, input).validate(); }, code, says);
}

std::vector<std::string> names(const DataSource& source) {
  std::vector<std::string> list;
  for (s64 i = 0; i < source.size(); ++i) list.push_back(source.name(i));
  return list;
}

Tensor filled(Dtype dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  if (dtype == Dtype::f32) {
    const auto values = tensor.mutable_as<f32>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<f32>(i);
  } else if (dtype == Dtype::u8) {
    const auto values = tensor.mutable_as<u8>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<u8>(i % 17);
  } else {
    const auto values = tensor.mutable_as<s64>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<s64>(i);
  }
  return tensor;
}

// Ten samples of 8x8 bytes as "images", their labels 90..99, and a second array.
void write_digits(const std::filesystem::path& path) {
  Tensor labels = filled(Dtype::s64, {10});
  for (s64& v : labels.mutable_as<s64>()) v += 90;
  const std::vector<std::pair<std::string, Tensor>> arrays = {
      {"images", filled(Dtype::u8, {10, 8, 8})},
      {"marks", labels},
      {"other", filled(Dtype::u8, {3})}};
  write_npz(path, arrays);
}

TEST(ImageFolder, SortedWithLabelsFromFolders) {
  const TempFolder folder;
  folder.copy("rgb.png", "dog/2.png");
  folder.copy("rgb.jpg", "dog/10.jpg");
  folder.copy("gray.png", "cat/deep/a.PNG");
  folder.copy("rgb.png", "bird/.hidden.png");
  folder.write("dog/notes.txt", std::string("no image"));
  folder.copy("rgb.jpg", "zebra/blob");
  DataSource source = open(at(folder.path()), kImageInput);
  EXPECT_THAT(names(source),
              ElementsAre("cat/deep/a.PNG", "dog/10.jpg", "dog/2.png", "zebra/blob"));
  // "bird" counts although nothing in it is used.
  EXPECT_EQ(source.label(0), 1);
  EXPECT_EQ(source.label(1), 2);
  EXPECT_EQ(source.label(3), 3);
  EXPECT_THAT(source.notes(), ElementsAre(HasSubstr("1 files are not images")));
  s64 calls = 0;
  source.validate([&](s64 done, s64 total) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 4);
  });
  EXPECT_EQ(calls, 4);
  const std::vector<Tensor> sample = source.sample(2);
  ASSERT_EQ(sample.size(), 1u);
  EXPECT_EQ(sample[0].type(), (TensorType{Dtype::f32, {1, 3, 4, 6}}));
  EXPECT_EQ(source.preprocess()->resize, (Preprocess::Size{6, 4}));
}

TEST(ImageFolder, LabelsFromFileNames) {
  const TempFolder folder;
  folder.copy("rgb.png", "x/0007_a.png");
  folder.copy("rgb.png", "12.png");
  DataOptions options = at(folder.path());
  EXPECT_EQ(open(options, kImageInput).label(0), std::nullopt);  // 12.png lies outside any class
  options.labels = LabelRule::prefix;
  EXPECT_EQ(open(options, kImageInput).label(0), 12);
  EXPECT_EQ(open(options, kImageInput).label(1), 7);
  folder.copy("rgb.png", "x/cat.png");
  refuse(options, kImageInput, {"cat.png", "leading number"});
}

TEST(ImageFolder, OneImageIsAFolderOfOne) {
  const DataSource source = open(at(testdata("rgb.jpg")), kImageInput);
  EXPECT_THAT(names(source), ElementsAre("rgb.jpg"));
  EXPECT_EQ(source.sample(0)[0].shape(), Shape({1, 3, 4, 6}));
}

TEST(ImageFolder, SomeSamplesAreSpreadEvenly) {
  const TempFolder folder;
  for (const char* name : {"a/1.png", "a/2.png", "b/1.png", "b/2.png", "c/1.png"})
    folder.copy("rgb.png", name);
  DataOptions options = at(folder.path());
  options.max_samples = 3;
  EXPECT_THAT(names(open(options, kImageInput)), ElementsAre("a/1.png", "a/2.png", "b/2.png"));
  options.max_samples = 50;
  const DataSource all = open(options, kImageInput);
  EXPECT_EQ(all.size(), 5);
  EXPECT_THAT(all.notes(), ElementsAre(HasSubstr("50 samples were asked for, 5 found")));
}

TEST(ImageFolder, BadFilesAreAnErrorOrANamedSkip) {
  const TempFolder folder;
  folder.copy("rgb.png", "1.png");
  folder.write("2.jpg", std::string());
  std::vector<u8> cut = testdata_bytes("rgb.jpg");
  cut.resize(cut.size() - 40);
  folder.write("3.jpg", cut);
  folder.write("4.gif", std::string("GIF89a..............."));
  folder.copy("rgb.jpg", "5.png");  // the content decides, not the name
  DataOptions options = at(folder.path());
  refuse(options, kImageInput,
         {"3 of 5", "2.jpg", "empty", "'3.jpg'", "'4.gif'", "repair or remove"});
  options.skip_bad = true;
  DataSource source = open(options, kImageInput);
  source.validate();
  EXPECT_THAT(names(source), ElementsAre("1.png", "5.png"));
  ASSERT_EQ(source.skipped().size(), 3u);
  EXPECT_EQ(source.skipped()[1].name, "3.jpg");
  EXPECT_THAT(source.skipped()[1].reason, HasSubstr("truncated"));
  std::filesystem::remove(folder / "1.png");
  std::filesystem::remove(folder / "5.png");
  refuse(options, kImageInput, {"nothing is left"});
}

TEST(ImageFolder, ThreadsThatLoadChangeNothing) {
  const TempFolder folder;
  std::vector<u8> cut = testdata_bytes("rgb.jpg");
  cut.resize(cut.size() - 40);
  for (int i = 0; i < 11; ++i) {
    const std::string name = std::string(1, static_cast<char>('a' + i));
    if (i % 4 == 3)
      folder.write(name + ".jpg", cut);
    else
      folder.copy(i % 2 == 0 ? "rgb.png" : "rgb.jpg", name + ".png");
  }
  DataOptions options = at(folder.path());
  options.skip_bad = true;
  DataSource one = open(options, kImageInput);
  one.validate();
  ASSERT_EQ(one.size(), 9);
  ASSERT_EQ(one.skipped().size(), 2u);
  for (const int threads : {2, 4, 16}) {
    DataSource many = open(options, kImageInput);
    s64 calls = 0;
    many.validate(
        [&, caller = std::this_thread::get_id()](s64 done, s64) {
          EXPECT_EQ(done, ++calls);
          EXPECT_EQ(std::this_thread::get_id(), caller);
        },
        threads);
    EXPECT_EQ(names(many), names(one));
    ASSERT_EQ(many.skipped().size(), one.skipped().size());
    for (size_t i = 0; i < one.skipped().size(); ++i)
      EXPECT_EQ(many.skipped()[i].name, one.skipped()[i].name);
    EXPECT_EQ(many.profiles(), one.profiles());
    ASSERT_EQ(many.summaries().size(), 1u);
    EXPECT_EQ(many.summaries()[0].mean, one.summaries()[0].mean);
  }
  DataSource stopped = open(options, kImageInput);
  EXPECT_THROW(stopped.validate(
                   [](s64 done, s64) {
                     if (done == 3) throw std::runtime_error("stop");
                   },
                   4),
               std::runtime_error);
}

TEST(ImageFolder, FoldersWithoutUse) {
  const TempFolder folder;
  refuse(at(folder / "none"), kImageInput, {"none", "does not exist"}, Error::Code::io);
  refuse(at({}), kImageInput, {"no data"});
  folder.write("a.txt", std::string("x"));
  refuse(at(folder.path()), kImageInput, {"no JPEG", "1 other"});
  folder.copy("rgb.png", "a.png");
  folder.copy("f4.npy", "a.npy");
  refuse(at(folder.path()), kImageInput, {"mixes images (1) and arrays (1)"});
}

TEST(ImageFolder, LinksEndAndFifosAreRefused) {
  const TempFolder folder;
  folder.copy("rgb.png", "a/1.png");
  std::filesystem::create_directory_symlink(folder.path(), folder / "a/loop");
  std::filesystem::create_symlink(folder / "a/1.png", folder / "a/2.png");
  DataSource source = open(at(folder.path()), kImageInput);
  source.validate();
  EXPECT_THAT(names(source), ElementsAre("a/1.png", "a/2.png"));
  ASSERT_EQ(::mkfifo((folder / "a/3.png").c_str(), 0600), 0);
  refuse(at(folder.path()), kImageInput, {"3.png", "not a regular file"});
}

TEST(ImageFolder, SizesThatCannotFitAreErrors) {
  const TempFolder folder;
  folder.copy("rgb.png", "1.png");
  DataOptions options = at(folder.path());
  options.preprocess = Preprocess{};
  options.preprocess->resize_short = 4;  // 17x11 becomes 6x4, which fits
  open(options, kImageInput).validate();
  options.preprocess->resize_short = 5;
  refuse(options, kImageInput, {"1.png", "1x3x5x7", "'image'", "?x3x4x6"});
}

TEST(ImageFolder, DifferentInputTypes) {
  const TensorInfo bytes{"image", {Dtype::u8, {1, 11, 17, 3}}};
  DataOptions options = at(testdata("rgb.png"));
  options.preprocess = Preprocess{};
  options.preprocess->layout = "nhwc";
  const Tensor u = open(options, bytes).sample(0)[0];
  const auto values = u.as<u8>();
  EXPECT_EQ(std::vector<u8>(values.begin(), values.end()), make_pattern(17, 11, 3).pixels);
  const TensorInfo half{"image", {Dtype::f16, {3, -1, -1}}};
  EXPECT_EQ(open(at(testdata("rgb.png")), half).sample(0)[0].type(),
            (TensorType{Dtype::f16, {3, 11, 17}}));
  options.preprocess->mean = {300};
  refuse(options, bytes, {"rgb.png", "does not fit u8"});
  options.preprocess->layout = "nchw";
  options.preprocess->mean = {70000};
  refuse(options, half, {"rgb.png", "does not fit f16"});
}

TEST(ArrayFiles, OneSampleOrABatchEach) {
  const TempFolder folder;
  write_npy(folder / "a.npy", filled(Dtype::f32, {1, 8, 8}));
  write_npy(folder / "b.npy", filled(Dtype::f32, {2, 1, 8, 8}));
  write_npy(folder / "c.npy", filled(Dtype::u8, {2, 8, 8}));
  write_npy(folder / "d.npy", filled(Dtype::f32, {8, 8}));
  DataSource source = open(at(folder.path()), kDigitsInput);
  source.validate();
  EXPECT_THAT(names(source),
              ElementsAre("a.npy", "b.npy[0]", "b.npy[1]", "c.npy[0]", "c.npy[1]", "d.npy"));
  EXPECT_EQ(source.sample(2)[0].type(), (TensorType{Dtype::f32, {1, 1, 8, 8}}));
  EXPECT_EQ(source.sample(2)[0].as<f32>()[3], 67);
  EXPECT_EQ(source.sample(4)[0].as<f32>()[0], 64 % 17);
  EXPECT_EQ(source.preprocess(), std::nullopt);
}

TEST(ArrayFiles, ArchiveWithSelectorLabelsAndSlice) {
  const TempFolder folder;
  write_digits(folder / "digits.npz");
  const std::string archive = (folder / "digits.npz").string();
  DataOptions options = at(archive + ":images[2:8]:marks");
  options.preprocess = Preprocess{};
  options.preprocess->scale = 16;
  const DataSource source = open(options, kDigitsInput);
  ASSERT_EQ(source.size(), 6);
  EXPECT_EQ(source.name(0), "digits.npz[2]");
  EXPECT_EQ(source.label(0), 92);
  EXPECT_EQ(source.sample(0)[0].shape(), Shape({1, 1, 8, 8}));
  EXPECT_EQ(source.sample(0)[0].as<f32>()[1], static_cast<f32>(129 % 17) / 16);
  EXPECT_EQ(source.preprocess(), options.preprocess);
  EXPECT_EQ(open(at(archive + ":images[-3:]"), kDigitsInput).size(), 3);
  EXPECT_EQ(open(at(archive + ":images[:4]"), kDigitsInput).size(), 4);
  EXPECT_EQ(open(at(archive + ":images"), kDigitsInput).label(0), std::nullopt);
  refuse(at(archive), kDigitsInput, {"no array named as input 'image'", "images, marks, other"});
  refuse(at(archive + ":images[5:5]"), kDigitsInput, {"no samples"});
  refuse(at(archive + ":images[5]"), kDigitsInput, {"expected FILE.npz"});
  refuse(at(archive + ":images:marks:x"), kDigitsInput, {"expected FILE.npz"});
  refuse(at(archive + ":nothing"), kDigitsInput, {"no array 'nothing'"});
  refuse(at(archive + ":images:other"), kDigitsInput, {"3 labels for 10 samples"});
  refuse(at(archive + ":other"), kDigitsInput, {"u8[3]", "f32[?,1,8,8]"});
  refuse(at((folder / "none.npz").string() + ":images"), kDigitsInput,
         {"none.npz", "No such file"});
}

TEST(ArrayFiles, SeveralInputsByName) {
  const TempFolder folder;
  const std::vector<TensorInfo> inputs = {kTokensInput, {"mask", {Dtype::boolean, {-1, 5}}}};
  Tensor mask(Dtype::u8, {3, 5});
  mask.mutable_as<u8>()[6] = 1;
  std::vector<std::pair<std::string, Tensor>> arrays = {
      {"mask", mask}, {"tokens", filled(Dtype::s64, {3, 5})}, {"labels", filled(Dtype::s64, {3})}};
  write_npz(folder / "a.npz", arrays);
  const DataSource source = DataSource::open(at(folder / "a.npz"), inputs);
  ASSERT_EQ(source.size(), 3);
  const std::vector<Tensor> sample = source.sample(1);
  EXPECT_EQ(sample[0].as<s64>()[0], 5);
  EXPECT_TRUE(sample[1].as<bool>()[1]);
  EXPECT_EQ(source.label(2), 2);
  arrays[0].second = filled(Dtype::u8, {4, 5});
  write_npz(folder / "a.npz", arrays);
  expect_error([&] { DataSource::open(at(folder / "a.npz"), inputs); },
               Error::Code::invalid_argument, {"4 samples", "have 3"});
  arrays.erase(arrays.begin());
  write_npz(folder / "a.npz", arrays);
  expect_error([&] { DataSource::open(at(folder / "a.npz"), inputs); },
               Error::Code::invalid_argument, {"a.npz", "'mask'"});
  write_npy(folder / "b.npy", mask);
  expect_error([&] { DataSource::open(at(folder / "b.npy"), inputs); },
               Error::Code::invalid_argument, {"one array", "2 inputs"});
  expect_error([&] { DataSource::open(at(testdata("rgb.png")), inputs); },
               Error::Code::invalid_argument, {"one input", "2"});
  expect_error([&] { DataSource::open(at(folder / "b.npy"), {}); }, Error::Code::invalid_argument,
               {"no inputs"});
}

TEST(ArrayFiles, WrongContentIsNamed) {
  const TempFolder folder;
  const auto path = folder / "a.npy";
  write_npy(path, filled(Dtype::f32, {2, 8, 9}));
  refuse(at(path), kDigitsInput, {"a.npy", "f32[2,8,9]", "'image'"});
  write_npy(path, filled(Dtype::f32, {2, 5}));
  refuse(at(path), kTokensInput, {"a.npy", "holds f32", "needs s64"});
  Tensor nan = filled(Dtype::f32, {2, 8, 8});
  nan.mutable_as<f32>()[70] = std::numeric_limits<f32>::quiet_NaN();
  write_npy(path, nan);
  refuse(at(path), kDigitsInput, {"1 of 2", "a.npy[1]", "NaN at element 6"});
  nan.mutable_as<f32>()[70] = std::numeric_limits<f32>::infinity();
  write_npy(path, nan);
  refuse(at(path), kDigitsInput, {"a.npy[1]", "Inf"});
  write_npy(path, filled(Dtype::s64, {600}));
  refuse(at(path), {"x", {Dtype::u8, {-1}}},
         {"344 of 600", "a.npy[256]", "256", "does not fit u8"});
  write_npy(path, Tensor(Dtype::f32, {0, 8, 8}));
  refuse(at(path), kDigitsInput, {"no samples"});
  DataOptions options = at(folder.path());
  options.preprocess = Preprocess{};
  options.preprocess->scale = 0;
  refuse(options, kDigitsInput, {"scale"});
}

TEST(ArrayFiles, BadHeadersCanBeSkipped) {
  const TempFolder folder;
  write_npy(folder / "a.npy", filled(Dtype::f32, {1, 8, 8}));
  folder.copy("object.npy", "b.npy");
  folder.write("c.npz", std::string("PK"));
  DataOptions options = at(folder.path());
  refuse(options, kDigitsInput, {"2 of 3", "b.npy", "pickle", "'c.npz'"});
  options.skip_bad = true;
  const DataSource source = open(options, kDigitsInput);
  EXPECT_EQ(source.size(), 1);
  EXPECT_EQ(source.skipped().size(), 2u);
}

TEST(ArrayFiles, SamplesMayBeLoadedByThreads) {
  const TempFolder folder;
  for (const char* name : {"a.npy", "b.npy", "c.npy"}) {
    write_npy(folder / name, filled(Dtype::f32, {5, 8, 8}));
  }
  const DataSource source = open(at(folder.path()), kDigitsInput);
  std::vector<std::thread> threads;
  std::atomic<s64> wrong = 0;
  for (s64 t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (s64 i = 0; i < source.size(); ++i) {
        const s64 index = (i * 7 + t * 5) % source.size();
        const std::vector<Tensor> sample = source.sample(index);
        if (sample[0].as<f32>()[1] != static_cast<f32>(index % 5 * 64 + 1)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ArrayFiles, RealDigits) {
  const std::filesystem::path archive =
      std::filesystem::path(OCTET_SOURCE_DIR) / "../shared/digits/digits.npz";
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << archive << " is absent";
  DataOptions options = at(archive.string() + ":train_images[0:200]:train_labels");
  options.preprocess = Preprocess{};
  options.preprocess->scale = 16;
  DataSource source = open(options, kDigitsInput);
  source.validate();
  EXPECT_EQ(source.size(), 200);
  for (s64 i = 0; i < source.size(); ++i) {
    EXPECT_LE(*source.label(i), 9);
    const std::vector<Tensor> sample = source.sample(i);
    for (f32 v : sample[0].as<f32>()) EXPECT_LE(v, 1.0f);
  }
}

}  // namespace
}  // namespace octet::test
