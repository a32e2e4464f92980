// SPDX-License-Identifier: Apache-2.0
#include "cli/output/terminal.h"

#include <gtest/gtest.h>

namespace octet::cli {
namespace {

TEST(Sanitize, PlainAndForeignTextStays) {
  EXPECT_EQ(sanitize("/layer1/Conv_0"), "/layer1/Conv_0");
  EXPECT_EQ(sanitize("caf\xc3\xa9 \xe6\xb7\xb1 \xf0\x9f\x90\x99"),
            "caf\xc3\xa9 \xe6\xb7\xb1 \xf0\x9f\x90\x99");
}

TEST(Sanitize, ControlsBecomeVisible) {
  EXPECT_EQ(sanitize("a\x1b[31mb\n\t\x7f"), "a\\x1b[31mb\\x0a\\x09\\x7f");
  EXPECT_EQ(sanitize("\xc2\x9b"), "\\xc2\\x9b");           // C1: CSI in one character
  EXPECT_EQ(sanitize("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
}

TEST(Sanitize, BrokenUtf8BecomesVisible) {
  EXPECT_EQ(sanitize("\xff"), "\\xff");
  EXPECT_EQ(sanitize("\xc3"), "\\xc3");                    // ends early
  EXPECT_EQ(sanitize("\xc0\x9b"), "\\xc0\\x9b");           // overlong escape
  EXPECT_EQ(sanitize("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");  // the same in three bytes
  EXPECT_EQ(sanitize("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(sanitize("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Table, AlignsByCharactersAndShortens) {
  Table table({{"NAME", false, 8}, {"N", true}});
  table.add({"\xc3\xa9t\xc3\xa9", "7"});
  table.add({"a name too long", "1234"});
  EXPECT_EQ(table.text(), "NAME         N\n\xc3\xa9t\xc3\xa9          7\na nam...  1234\n");
}

TEST(Units, Human) {
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KB");
  EXPECT_EQ(human_bytes(3u << 20), "3.0 MB");
  EXPECT_EQ(human_seconds(1.5), "1.50 s");
  EXPECT_EQ(human_seconds(0.0015), "1.50 ms");
  EXPECT_EQ(percent(0.978), "97.8 %");
}

}  // namespace
}  // namespace octet::cli
