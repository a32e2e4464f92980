// SPDX-License-Identifier: Apache-2.0
#include "core/sniff.h"

#include <algorithm>
#include <string>

namespace octet {
namespace {

using namespace std::string_view_literals;

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view is;
};

constexpr Magic kMagics[] = {
    {0, "version https://git-lfs"sv,
     "a Git LFS pointer, not the model itself; run 'git lfs pull' in its repository"},
    {0, "\x1f\x8b"sv, "a gzip archive; unpack it and give the .onnx file inside"},
    {0, "PK\x03\x04"sv,
     "a zip archive, as PyTorch (.pt, .pth) and Keras save; export the model to ONNX first"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz archive; unpack it with 'xz -d' and give the .onnx file inside"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd archive; unpack it and give the .onnx file inside"},
    {0, "BZh"sv, "a bzip2 archive; unpack it and give the .onnx file inside"},
    {4, "TFL3"sv, "a TensorFlow Lite model; convert it to ONNX first (tf2onnx does)"},
    {4, "ORTM"sv, "an ONNX Runtime .ort model; give the .onnx file that it was made from"},
    {0, "ftrt"sv, "a TensorRT engine; give the ONNX model that it was built from"},
    {0, "ptrt"sv, "a TensorRT engine; give the ONNX model that it was built from"},
    {0, "OCTET"sv, "an Octet engine that is already built; use it with 'octet run'"},
    {0, "GGUF"sv, "a GGUF language model, which Octet does not run; an ONNX model is needed"},
    {0, "\x89HDF"sv, "an HDF5 file, as Keras saves; convert the model to ONNX first (tf2onnx)"},
    {0, "\x93NUMPY"sv, "a NumPy array, not a model"},
    {0, "\x89PNG"sv, "a PNG image, not a model"},
    {0, "\xff\xd8\xff"sv, "a JPEG image, not a model"},
    {0,
     "\x7f"
     "ELF"sv,
     "a program or shared library, not a model"},
    {0, "\x80\x02"sv, "a Python pickle, which Octet never opens; export the model to ONNX first"},
    {0, "\x80\x03"sv, "a Python pickle, which Octet never opens; export the model to ONNX first"},
    {0, "\x80\x04"sv, "a Python pickle, which Octet never opens; export the model to ONNX first"},
    {0, "\x80\x05"sv, "a Python pickle, which Octet never opens; export the model to ONNX first"},
    {0, "ir_version:"sv, "an ONNX model in text form; save it as binary protobuf"},
};

bool starts_with_tag(std::string_view text, std::string_view tag) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos || text.size() - start < tag.size()) return false;
  return std::equal(tag.begin(), tag.end(), text.begin() + static_cast<ptrdiff_t>(start),
                    [](char t, char c) { return t == (c >= 'A' && c <= 'Z' ? c + 32 : c); });
}

}  // namespace

std::string_view sniff_foreign(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 256));
  for (const Magic& magic : kMagics) {
    if (text.size() >= magic.offset && text.substr(magic.offset).starts_with(magic.bytes)) {
      return magic.is;
    }
  }
  if (starts_with_tag(text, "<!doctype html") || starts_with_tag(text, "<html")) {
    return "an HTML page, probably an error page saved by a download; download the model again";
  }
  if (starts_with_tag(text, "<?xml") || starts_with_tag(text, "<net")) {
    return "an XML file, as OpenVINO saves; give the ONNX model that it was made from";
  }
  // safetensors: a 64-bit header length, then the JSON header.
  if (text.size() > 9 && text.substr(3, 5) == "\0\0\0\0\0"sv && text[8] == '{' && text[9] == '"') {
    return "a safetensors file: weights without a network; export the model to ONNX";
  }
  return {};
}

}  // namespace octet
