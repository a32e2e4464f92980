// SPDX-License-Identifier: Apache-2.0
// What stands for PTX: its first lines, with the version of the language and the target that it needs, and an image in hexadecimal digits behind them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace octet::emulator {

struct PtxHead {
  int version = 0;   // 90 for 9.0
  int target = 0;    // 90 for sm_90
  size_t bytes = 0;  // of the image
};

constexpr size_t kMostPtxHead = 64;

// The language of CUDA's version 13.0, as compilers and drivers give it (13000), is 9.0.
constexpr int ptx_version(int cuda) { return cuda / 1000 * 10 - 40 + cuda % 1000 / 10; }

inline std::string ptx_head(const PtxHead& head) {
  char text[kMostPtxHead + 1];
  std::snprintf(text, sizeof text, ".version %d.%d\n.target sm_%d\n// %zu bytes\n",
                head.version / 10, head.version % 10, head.target, head.bytes);
  std::string padded = text;
  padded.resize(kMostPtxHead - 1, ' ');
  return padded + '\n';
}

// Of the first kMostPtxHead bytes; false: it is no PTX.
inline bool read_ptx_head(const std::string& text, PtxHead& head) {
  int minor = 0;
  if (std::sscanf(text.c_str(), ".version %d.%d .target sm_%d // %zu bytes", &head.version, &minor,
                  &head.target, &head.bytes) != 4)
    return false;
  head.version = 10 * head.version + minor;
  return true;
}

inline std::string ptx_of(const std::string& image, PtxHead head) {
  constexpr const char* kDigits = "0123456789abcdef";
  head.bytes = image.size();
  std::string text = ptx_head(head);
  for (const char c : image) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

inline std::string image_of_ptx(const std::string& digits) {
  std::string image;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    image += static_cast<char>(std::strtol(digits.substr(i, 2).c_str(), nullptr, 16));
  return image;
}

}  // namespace octet::emulator
