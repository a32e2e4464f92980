// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "octet/error.h"
#include "octet/tuning.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

const TuningKey kKey{"GenuineIntel 000806f8 \"Some\" CPU", "amx", 2,
                     "QConv(u8[1,4,8,8] nhwc) -> u8[1,4,8,8]"};

std::string choice(const std::string& changed = "", const std::string& value = "") {
  const std::pair<const char*, const char*> fields[] = {
      {"chip", "\"c\""},  {"level", "\"vnni\""}, {"threads", "1"},
      {"layer", "\"l\""}, {"kernel", "\"k\""},   {"microseconds", "1.5"}};
  std::string text = "{";
  for (const auto& [key, standard] : fields) {
    const bool other = key == changed;
    if (other && value.empty()) continue;
    text += (text.size() > 1 ? "," : "") + ('"' + std::string(key)) +
            "\":" + (other ? value : standard);
  }
  return text + "}";
}

std::string file_of(const std::string& choices) {
  return R"({"format":"octet-tuning","version":2,"choices":[)" + choices + "]}";
}

std::string message_of(std::string_view text) {
  try {
    tuning_from_json(text, "here.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(TuningFile, ReadsWhatItWrites) {
  Tuning tuning;
  tuning.set(kKey, {"conv_a", 12.25});
  TuningKey other = kKey;
  other.threads = 1;
  tuning.set(other, {"conv_b", 0});
  const Tuning read = tuning_from_json(to_json(tuning), "here.json");
  ASSERT_EQ(read.kernels().size(), 2u);
  EXPECT_EQ(read.find(kKey)->kernel, "conv_a");
  EXPECT_EQ(read.find(kKey)->microseconds, 12.25);
  EXPECT_EQ(read.find(other)->kernel, "conv_b");
  other.level = "vnni";
  EXPECT_EQ(read.find(other), nullptr);
  EXPECT_EQ(to_json(read), to_json(tuning));
}

TEST(TuningFile, SaysWhatIsWrong) {
  EXPECT_EQ(message_of(file_of(choice())), "accepted");
  EXPECT_EQ(message_of(file_of("")), "accepted");
  for (const char* key : {"chip", "level", "threads", "layer", "kernel", "microseconds"})
    EXPECT_THAT(message_of(file_of(choice(key))),
                HasSubstr("choice 0: '" + std::string(key) + "' is missing"));
  EXPECT_EQ(message_of(file_of(choice("level", "\"sm_90\""))), "accepted");  // of any device
  EXPECT_THAT(message_of(file_of(choice("level", "\"\""))), HasSubstr("'level' has 0 bytes"));
  for (const char* threads :
       {"0", "-1", "1.5", "\"1\"", "true", "null", "65537", "9223372036854775808",
        "18446744073709551615", "1e3", "99999999999999999999999"})
    EXPECT_THAT(message_of(file_of(choice("threads", threads))), HasSubstr("'threads'")) << threads;
  for (const char* time : {"-1", "\"1\"", "null", "[]"})
    EXPECT_THAT(message_of(file_of(choice("microseconds", time))),
                HasSubstr("'microseconds' is not a"))
        << time;
  EXPECT_THAT(message_of(file_of(choice("microseconds", "1e999"))), HasSubstr("here.json"));
  EXPECT_THAT(message_of(file_of(choice("kernel", "\"\""))), HasSubstr("has 0 bytes"));
  EXPECT_THAT(message_of(file_of(choice("kernel", '"' + std::string(5000, 'k') + '"'))),
              HasSubstr("has 5000 bytes"));
  EXPECT_THAT(message_of(file_of(choice() + "," + choice())),
              HasSubstr("choice 1: the layer has a choice before"));
  EXPECT_THAT(message_of(file_of("7")), HasSubstr("choice 0: not an object"));
  EXPECT_THAT(message_of(R"({"format":"octet-tuning","version":3,"choices":[]})"),
              HasSubstr("'version'"));
  EXPECT_THAT(message_of(R"({"format":"octet-tuning","version":1,"choices":[]})"),
              HasSubstr("measured again"));
  EXPECT_THAT(message_of(R"({"format":"other","version":2,"choices":[]})"), HasSubstr("'format'"));
  EXPECT_THAT(message_of(R"({"format":"octet-tuning","version":2,"choices":{}})"),
              HasSubstr("not a list"));
  EXPECT_THAT(message_of("[]"), HasSubstr("not an object"));
  std::string many = choice("layer", "\"0\"");
  for (int i = 1; i <= 1 << 14; ++i) many += "," + choice("layer", '"' + std::to_string(i) + '"');
  EXPECT_THAT(message_of(file_of(many)), HasSubstr("at most 16384"));
}

TEST(TuningFile, SurvivesEveryCutAndEveryChangedByte) {
  const std::string whole = file_of(choice() + "," + choice("layer", "\"m\""));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(message_of(whole.substr(0, size)), "accepted") << size;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\0', '\xff', '"', '{', ']', '9', '-'}) {
      std::string changed = whole;
      changed[at] = byte;
      message_of(changed);
    }
  }
  EXPECT_THAT(message_of(std::string(100'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(message_of(""), HasSubstr("not valid JSON"));
}

TEST(TuningFile, IsBoundedAndNamed) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("octet-tuning-" + std::to_string(::getpid()) + ".json");
  Tuning tuning;
  tuning.set(kKey, {"conv_a", 1});
  save_tuning(tuning, path);
  EXPECT_EQ(load_tuning(path).find(kKey)->kernel, "conv_a");
  std::ofstream(path) << std::string((4 << 20) + 1, ' ');
  try {
    load_tuning(path);
    ADD_FAILURE() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
  }
  std::filesystem::remove(path);
  try {
    load_tuning(path);
    ADD_FAILURE() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::io);
  }
}

// A layer whose attributes take kilobytes cannot be read back, so it is not written.
TEST(TuningFile, LeavesOutWhatItWouldRefuse) {
  Tuning tuning;
  TuningKey key = kKey;
  key.layer = std::string(5000, 'l');
  tuning.set(key, {"conv_a", 1});
  tuning.set(kKey, {"conv_b", 1});
  EXPECT_EQ(tuning_from_json(to_json(tuning), "here.json").kernels().size(), 1u);
}

}  // namespace
}  // namespace octet
