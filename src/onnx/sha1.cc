// SPDX-License-Identifier: Apache-2.0
#include "onnx/sha1.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/check.h"
#include "core/types.h"

namespace octet {

std::string sha1_of(int descriptor) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr) == 1;
  std::array<u8, 1 << 16> block;
  for (s64 at = 0; good;) {
    const ssize_t got = ::pread(descriptor, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Error::Code::io, "reading a weights file: {}", std::strerror(errno));
    if (got == 0) break;
    good = EVP_DigestUpdate(context.get(), block.data(), static_cast<size_t>(got)) == 1;
    at += got;
  }
  std::array<u8, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  good = good && EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1;
  if (!good) fail(Error::Code::internal, "the SHA-1 of a weights file could not be computed");
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace octet
