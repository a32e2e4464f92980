// SPDX-License-Identifier: Apache-2.0
// JPEG through libjpeg-turbo. Its errors leave by longjmp, so every frame between setjmp and the library holds only plain
// data; whatever owns memory lives in JpegReader, one frame further out.
#include <setjmp.h>

#include <cstdio>

// After <cstdio>: jpeglib.h uses FILE without including it.
#include <jerror.h>
#include <jpeglib.h>

#include "core/check.h"
#include "core/memory.h"
#include "data/image.h"

namespace octet {
namespace {

// A progressive file may hold any number of scans over all pixels; real encoders write about ten.
constexpr int kMaxScans = 500;

struct JpegErrors {
  jpeg_error_mgr manager;  // first member: the library hands back a pointer to it
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  longjmp(errors->jump, 1);
}

// Warnings that leave every pixel as the encoder meant it.
bool harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_BOGUS_ICC ||
         code == JWRN_JFIF_MAJOR || code == JWRN_TOO_MUCH_DATA;
}

void on_message(j_common_ptr info, int level) {
  // Level -1 is a warning about damaged or missing data, which the library would paint over in gray.
  if (level < 0 && !harmless(info->err->msg_code)) leave(info);
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    info->err->msg_code = JERR_BAD_PROGRESSION;
    leave(info);
  }
}

struct JpegReader {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  jpeg_progress_mgr progress{};

  JpegReader() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leave;
    errors.manager.emit_message = on_message;
    progress.progress_monitor = on_progress;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
};

bool read_header(JpegReader& reader, std::span<const u8> bytes) {
  if (setjmp(reader.errors.jump) != 0) return false;
  jpeg_create_decompress(&reader.info);
  reader.info.progress = &reader.progress;
  jpeg_mem_src(&reader.info, bytes.data(), bytes.size());
  jpeg_read_header(&reader.info, TRUE);
  switch (reader.info.jpeg_color_space) {
    case JCS_GRAYSCALE:
      reader.info.out_color_space = JCS_GRAYSCALE;
      break;
    case JCS_CMYK:
    case JCS_YCCK:
      reader.info.out_color_space = JCS_CMYK;
      break;
    default:
      reader.info.out_color_space = JCS_RGB;
      break;
  }
  return true;
}

// What libjpeg takes to decode: of a file with several scans the coefficients of all blocks, and strips of rows.
s64 decoder_bytes(jpeg_decompress_struct& info) {
  constexpr s64 kStripRows = 64;
  s64 bytes = s64{info.image_width} * info.num_components * kStripRows;
  if (jpeg_has_multiple_scans(&info) == FALSE) return bytes;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    // Blocks come in groups of the sampling factors.
    const s64 blocks = (s64{component.width_in_blocks} + component.h_samp_factor) *
                       (s64{component.height_in_blocks} + component.v_samp_factor);
    bytes += blocks * static_cast<s64>(sizeof(JBLOCK));
  }
  return bytes;
}

bool read_pixels(JpegReader& reader, u8* pixels, size_t row_bytes) {
  if (setjmp(reader.errors.jump) != 0) return false;
  jpeg_start_decompress(&reader.info);
  while (reader.info.output_scanline < reader.info.output_height) {
    JSAMPROW row = pixels + reader.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.info, &row, 1);
  }
  jpeg_finish_decompress(&reader.info);
  return true;
}

[[noreturn]] void fail_jpeg(const JpegReader& reader, const std::string& name) {
  fail(Error::Code::invalid_argument, "'{}': truncated, corrupt or unsupported JPEG: {}", name,
       reader.errors.message);
}

// round(a * b / 255) for bytes.
u8 multiply_bytes(u32 a, u32 b) {
  const u32 t = a * b + 128;
  return static_cast<u8>(((t >> 8) + t) >> 8);
}

// JPEG files hold CMYK inverted (Adobe's habit, taken for granted by every reader): stored 255 means no ink.
std::vector<u8> cmyk_to_rgb(const std::vector<u8>& cmyk) {
  std::vector<u8> rgb(cmyk.size() / 4 * 3);
  for (size_t i = 0; i < cmyk.size() / 4; ++i) {
    const u32 light = cmyk[i * 4 + 3];
    for (size_t c = 0; c < 3; ++c) {
      const u32 ink = 255u - cmyk[i * 4 + c];
      rgb[i * 3 + c] = static_cast<u8>(light - multiply_bytes(ink, light));
    }
  }
  return rgb;
}

}  // namespace

Image decode_jpeg(std::span<const u8> bytes, const std::string& name) {
  JpegReader reader;
  if (!read_header(reader, bytes)) fail_jpeg(reader, name);
  check_image_size(reader.info.image_width, reader.info.image_height, name);
  const bool cmyk = reader.info.out_color_space == JCS_CMYK;
  const bool gray = reader.info.out_color_space == JCS_GRAYSCALE;
  const Reserved decoder(decoder_bytes(reader.info), "decoding '" + name + "'");
  Image image;
  image.width = static_cast<int>(reader.info.image_width);
  image.height = static_cast<int>(reader.info.image_height);
  image.channels = gray ? 1 : 3;
  const size_t row_bytes = reader.info.image_width * (gray ? 1u : (cmyk ? 4u : 3u));
  image.pixels.resize(row_bytes * reader.info.image_height);
  if (!read_pixels(reader, image.pixels.data(), row_bytes)) fail_jpeg(reader, name);
  if (cmyk) image.pixels = cmyk_to_rgb(image.pixels);
  return image;
}

}  // namespace octet
