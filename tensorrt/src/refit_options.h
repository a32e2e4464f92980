// SPDX-License-Identifier: Apache-2.0
// How a model was quantized, so that a refit does the same with other weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/calibrate.h"
#include "octet/compile.h"

namespace octet_trt {

struct HalfTypes {
  bool f16 = false, bf16 = false;
};

struct RefitOptions {
  bool int8 = false;
  HalfTypes halves;   // of layers that are not INT8
  std::string cache;  // a calibration cache's text; empty: none
  std::string cache_details;
  std::vector<octet::GivenRange> ranges;
};

std::string to_text(const RefitOptions& options);
octet::CompileOptions compile_options(const std::string& text, int threads);
// Whether a model has weights in files beside it.
bool has_files(std::string_view model);

}  // namespace octet_trt
