/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads an engine, runs one image, prints the class with the highest score. In C99, with liboctet_c alone.
 * usage: classify ENGINE.octet IMAGE.pgm|IMAGE.ppm SCALE; the image has the size that the engine takes, and pixels are divided by SCALE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "octet/octet.h"

static int failed(octet_error* error) {
  fprintf(stderr, "error: %s\n", octet_error_text(error));
  if (*octet_error_option(error) != 0) fprintf(stderr, "  see %s\n", octet_error_option(error));
  octet_error_free(error);
  return 2;
}

/* A binary PGM or PPM of 8 bits as one plane of numbers for each channel; NULL where the file is none of this size. */
static float* read_image(const char* path, int channels, int height, int width, double scale) {
  FILE* file = fopen(path, "rb");
  float* planes = NULL;
  char kind = 0;
  int w = 0, h = 0, most = 0, i;
  if (file == NULL) return NULL;
  if (fscanf(file, "P%c %d %d %d", &kind, &w, &h, &most) == 4 && kind == (channels == 3 ? '6' : '5') && w == width && h == height &&
      most == 255 && fgetc(file) != EOF) {
    const int area = width * height;
    planes = (float*)malloc(sizeof(float) * (size_t)area * (size_t)channels);
    for (i = 0; planes != NULL && i < area * channels; ++i) {
      const int value = fgetc(file);
      if (value == EOF) {
        free(planes);
        planes = NULL;
      } else {
        planes[i % channels * area + i / channels] = (float)(value / scale);
      }
    }
  }
  fclose(file);
  return planes;
}

/* The first output of f32 numbers: which is the largest. */
static int print_top(const octet_results* results) {
  octet_error* error = NULL;
  octet_tensor scores = {.size = sizeof scores};
  const float* values;
  uint64_t count, best = 0, i;
  if (octet_results_tensor(results, 0, &scores, &error) != OCTET_OK) return failed(error);
  values = (const float*)scores.data;
  count = scores.bytes / sizeof(float);
  if (scores.dtype != OCTET_DTYPE_F32 || count == 0) {
    fprintf(stderr, "error: the engine's first output is %s and has no scores of f32\n", octet_dtype_name(scores.dtype));
    return 2;
  }
  for (i = 1; i < count; ++i) {
    if (values[i] > values[best]) best = i;
  }
  printf("class %d, score %.4f\n", (int)best, values[best]);
  return 0;
}

static int classify(const octet_engine* engine, const char* image, double scale) {
  octet_error* error = NULL;
  octet_tensor_info info = {.size = sizeof info};
  octet_tensor input = {.size = sizeof input};
  octet_run run = {.size = sizeof run};
  octet_context* context = NULL;
  octet_results* results = NULL;
  float* planes;
  int code;
  if (octet_engine_input(engine, 0, &info, &error) != OCTET_OK) return failed(error);
  if (octet_engine_input_count(engine) != 1 || info.dtype != OCTET_DTYPE_F32 || info.rank != 4 || info.dims[2] < 1 || info.dims[3] < 1 ||
      (info.dims[1] != 1 && info.dims[1] != 3)) {
    fputs("error: this program is for engines of one input f32[N,1 or 3,H,W]\n", stderr);
    return 2;
  }
  planes = read_image(image, (int)info.dims[1], (int)info.dims[2], (int)info.dims[3], scale);
  if (planes == NULL) {
    fprintf(stderr, "error: '%s' is no binary PGM or PPM of 8 bits and %dx%d pixels, as input '%s' takes\n", image, (int)info.dims[3],
            (int)info.dims[2], info.name);
    return 2;
  }
  input.data = planes;
  input.dtype = info.dtype;
  input.rank = info.rank;
  memcpy(input.dims, info.dims, sizeof input.dims);
  input.dims[0] = 1;
  input.bytes = sizeof(float) * (uint64_t)(info.dims[1] * info.dims[2] * info.dims[3]);
  run.inputs = &input;
  run.input_count = 1;
  if (octet_context_create(engine, NULL, &context, &error) == OCTET_OK && octet_context_run_new(context, &run, &results, &error) == OCTET_OK)
    code = print_top(results);
  else
    code = failed(error);
  octet_results_free(results);
  octet_context_free(context);
  free(planes);
  return code;
}

int main(int argc, char** argv) {
  octet_error* error = NULL;
  octet_engine* engine = NULL;
  const double scale = argc == 4 ? atof(argv[3]) : 0;
  int code;
  if (!(scale > 0)) {
    fputs("usage: classify ENGINE.octet IMAGE.pgm|IMAGE.ppm SCALE\n", stderr);
    return 2;
  }
  if (octet_engine_load(argv[1], &engine, &error) != OCTET_OK) return failed(error);
  code = classify(engine, argv[2], scale);
  octet_engine_free(engine);
  return code;
}
