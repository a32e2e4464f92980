// SPDX-License-Identifier: Apache-2.0
#include "core/content_hash.h"

#include <gtest/gtest.h>

#include <string_view>

namespace octet::test {
namespace {

ContentDigest digest_of(std::string_view text) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(text.data(), text.size())));
  return hash.digest();
}

TEST(ContentHash, KnownValueOfNothing) {
  EXPECT_EQ(ContentHash().digest().hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(ContentHash, PiecesMakeTheWhole) {
  ContentHash pieces;
  for (std::string_view part : {"ab", "", "c"})
    pieces.add(std::as_bytes(std::span(part.data(), part.size())));
  EXPECT_EQ(pieces.digest(), digest_of("abc"));
  EXPECT_NE(digest_of("abc"), digest_of("abd"));
}

TEST(ContentHash, SumsDoNotDependOnOrder) {
  ContentDigest ab = digest_of("a"), ba = digest_of("b");
  ab += digest_of("b");
  ba += digest_of("a");
  EXPECT_EQ(ab, ba);
  ContentDigest carries{~u64{0}, 1};
  carries += ContentDigest{1, 1};
  EXPECT_EQ(carries, (ContentDigest{0, 3}));
}

}  // namespace
}  // namespace octet::test
