// SPDX-License-Identifier: Apache-2.0
// Bytes whose hash fits and that no observation gives.
#include "octet/observation.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/content_hash.h"
#include "octet/source_model.h"

namespace octet {
namespace {

Observation of_some(f32 factor) {
  static const SampleObserver observer(
      SourceModel::read(std::filesystem::path(OCTET_SOURCE_DIR) / "examples/digits/digits.onnx"));
  return observer.observe([&, done = false](std::vector<Tensor>& inputs) mutable {
    Tensor image(Dtype::f32, {2, 1, 8, 8});
    f32 value = 0;
    for (f32& pixel : image.mutable_as<f32>()) pixel = (value += factor) > 16 ? value = 0 : value;
    inputs = {image};
    return !std::exchange(done, true);
  });
}

// As who forges them would.
void sign(std::vector<std::byte>& bytes) {
  const auto content = std::span(bytes).first(bytes.size() - sizeof(ContentDigest));
  const ContentDigest digest = digest_of(content);
  std::memcpy(bytes.data() + content.size(), &digest, sizeof(digest));
}

// Any byte may be wrong: then reading, adding or building ends in one Error, or in success.
TEST(ObservationHostile, ForgedBytesAreErrorsOrObservations) {
  const std::vector<std::byte> good = of_some(0.37f).to_bytes(), other = of_some(0.5f).to_bytes();
  std::mt19937 random(3);
  s64 refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> bad = good;
    for (auto n = 1 + random() % 3; n > 0; --n) {
      const size_t near = i % 2 == 0 ? 256 : bad.size() - sizeof(ContentDigest);
      bad[random() % near] = std::byte(random() % 256);
    }
    if (i % 5 == 0) bad.resize(std::max<size_t>(64, random() % bad.size()));
    sign(bad);
    try {
      Observation sum = Observation::from_bytes(other);
      sum.merge(Observation::from_bytes(bad));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace octet
