// SPDX-License-Identifier: Apache-2.0
// The same layers by XNNPACK's convolution of s8 codes with a scale for each channel, for bench/counts.py, which compiles it.
// Usage: counts_xnnpack RUNS CHANNELS OUTPUTS SIZE WINDOW STRIDE GROUPS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

int main(int argc, char** argv) {
  if (argc < 8) return 2;
  const long runs = atol(argv[1]), channels = atol(argv[2]), outputs = atol(argv[3]);
  const long size = atol(argv[4]), window = atol(argv[5]), stride = atol(argv[6]);
  const long groups = atol(argv[7]), pad = window / 2;
  const long out = (size + 2 * pad - window) / stride + 1;
  const size_t weights = (size_t)(outputs * channels / groups * window * window);
  // It reads up to 16 bytes beyond the end of its operands.
  const size_t in_bytes = (size_t)(size * size * channels), more = 64;
  int8_t* kernel = memset(malloc(weights + more), 3, weights);
  int8_t* input = memset(malloc(in_bytes + more), 77, in_bytes);
  int8_t* output = malloc((size_t)(out * out * outputs) + more);
  int32_t* bias = calloc((size_t)outputs, sizeof(int32_t));
  float* scale = malloc((size_t)outputs * sizeof(float));
  for (long i = 0; i < outputs; ++i) scale[i] = 0.01f;
  if (xnn_initialize(NULL) != xnn_status_success) return 3;
  xnn_operator_t op = NULL;
  const uint32_t p = (uint32_t)pad, k = (uint32_t)window, s = (uint32_t)stride;
  enum xnn_status status = xnn_create_convolution2d_nhwc_qc8(
      p, p, p, p, k, k, s, s, 1, 1, (uint32_t)groups, (size_t)(channels / groups),
      (size_t)(outputs / groups), (size_t)channels, (size_t)outputs, 0, 0.1f, scale, kernel, bias,
      0, 1.0f, -128, 127, 0, &op);
  if (status != xnn_status_success) return 4;
  status = xnn_setup_convolution2d_nhwc_qc8(op, 1, (size_t)size, (size_t)size, input, output, NULL);
  if (status != xnn_status_success) return 5;
  for (long i = 0; i < runs; ++i) {
    if (xnn_run_operator(op, NULL) != xnn_status_success) return 6;
  }
  return 0;
}
