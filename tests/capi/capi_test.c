/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface as a program in C has it: build, load, run, two threads, and each kind of error. Compiled as C99, as C11 and as C++.
 * usage: capi_test MODEL.onnx FOLDER; the model takes images f32[?,1,8,8] and gives f32[?,10]. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "octet/octet.h"

enum { PIXELS = 64, CLASSES = 10, MOST = 3, THREADS = 2, RUNS = 20 };

static int failures = 0;

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      ++failures;                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
    }                                                                  \
  } while (0)

static void works(octet_status status, octet_error* error, int line) {
  if (status != OCTET_OK || error != NULL) {
    ++failures;
    fprintf(stderr, "line %d: %s: %s\n", line, octet_status_name(status), octet_error_text(error));
  }
  octet_error_free(error);
}
#define WORKS(call)                   \
  do {                                \
    octet_error* error = NULL;        \
    const octet_status got = (call);  \
    works(got, error, __LINE__);      \
  } while (0)

/* The call fails so, and says these words. */
static void fails(octet_status got, octet_error* error, octet_status expected, const char* words, int line) {
  if (got != expected || octet_error_status(error) != expected || strstr(octet_error_text(error), words) == NULL) {
    ++failures;
    fprintf(stderr, "line %d: %s: %s\n  expected %s with '%s'\n", line, octet_status_name(got), octet_error_text(error),
            octet_status_name(expected), words);
  }
  octet_error_free(error);
}
#define FAILS(call, expected, words)                 \
  do {                                               \
    octet_error* error = NULL;                       \
    const octet_status got = (call);                 \
    fails(got, error, (expected), (words), __LINE__); \
  } while (0)

static octet_tensor tensor_of(float* data, int count, int row) {
  octet_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.size = sizeof tensor;
  tensor.data = data;
  tensor.bytes = (uint64_t)count * (uint64_t)row * sizeof(float);
  tensor.dtype = OCTET_DTYPE_F32;
  tensor.dims[0] = count;
  if (row == PIXELS) {
    tensor.rank = 4;
    tensor.dims[1] = 1;
    tensor.dims[2] = 8;
    tensor.dims[3] = 8;
  } else {
    tensor.rank = 2;
    tensor.dims[1] = row;
  }
  return tensor;
}

static octet_run run_of(const octet_tensor* input, const octet_tensor* output) {
  octet_run run;
  memset(&run, 0, sizeof run);
  run.size = sizeof run;
  run.inputs = input;
  run.input_count = 1;
  run.outputs = output;
  run.output_count = output != NULL ? 1 : 0;
  return run;
}

static void fill(float* pixels, int count, int seed) {
  int i;
  for (i = 0; i < count * PIXELS; ++i) pixels[i] = (float)((i * 7 + seed * 13) % 17) / 16.0F;
}

/* What a fresh context gives for images of this seed. */
static void answer(const octet_engine* engine, int count, int seed, float* logits) {
  float pixels[MOST * PIXELS];
  octet_context* context = NULL;
  octet_tensor input = tensor_of(pixels, count, PIXELS), output = tensor_of(logits, count, CLASSES);
  const octet_run run = run_of(&input, &output);
  fill(pixels, count, seed);
  WORKS(octet_context_create(engine, NULL, &context, &error));
  WORKS(octet_context_run(context, &run, &error));
  octet_context_free(context);
}

static int32_t count_calls(void* user, const octet_progress* progress) {
  if (progress->size >= sizeof *progress && progress->stage != NULL) ++*(int*)user;
  return 0;
}

static int32_t end_at_once(void* user, const octet_progress* progress) {
  (void)user;
  (void)progress;
  return 1;
}

struct samples {
  float pixels[PIXELS];
  int given;
  int most;
  int32_t after; /* the answer behind the last */
  int newer;     /* they are given in a struct that has grown */
  uint64_t later;
};

static int32_t next_sample(void* user, octet_tensor* const* inputs, uint64_t count) {
  struct samples* samples = (struct samples*)user;
  struct {
    octet_tensor known;
    uint64_t later;
  } tensor;
  CHECK(count == 1 && inputs[0]->dtype == OCTET_DTYPE_F32 && inputs[0]->rank == 4 && inputs[0]->dims[2] == 8);
  CHECK(inputs[0]->size == sizeof *inputs[0]);
  if (samples->given == samples->most) return samples->after;
  fill(samples->pixels, 1, samples->given++);
  tensor.known = tensor_of(samples->pixels, 1, PIXELS);
  tensor.later = samples->later;
  if (samples->newer) tensor.known.size = sizeof tensor;
  memcpy(inputs[0], &tensor, samples->newer ? sizeof tensor : sizeof tensor.known);
  return 1;
}

static octet_build_options int8_options(struct samples* samples) {
  octet_build_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.flags = OCTET_BUILD_INT8;
  options.samples = next_sample;
  options.samples_user = samples;
  return options;
}

static void test_versions(void) {
  CHECK(octet_abi_version() == OCTET_ABI);
  CHECK(strchr(octet_version(), '.') != NULL);
  CHECK(strcmp(octet_status_name(OCTET_INVALID_MODEL), "invalid_model") == 0);
  CHECK(strcmp(octet_status_name(99), "unknown") == 0);
  CHECK(strcmp(octet_dtype_name(OCTET_DTYPE_BF16), "bf16") == 0 && octet_dtype_bytes(OCTET_DTYPE_BF16) == 2);
  CHECK(strcmp(octet_dtype_name(OCTET_DTYPE_U2), "u2") == 0 && octet_dtype_bytes(0) == 0);
  CHECK(octet_usable_processors() >= 1);
  WORKS(octet_device_check("cpu", &error));
  FAILS(octet_device_check("abacus:0", &error), OCTET_INVALID_ARGUMENT, "abacus:0");
}

/* What a program was compiled with stays: the numbers, and where fields are and end. What is new is added at the ends. */
static void test_what_never_changes(void) {
#define IS(name, number) CHECK((name) == (number))
  IS(OCTET_ABI, 1U); IS(OCTET_MAX_RANK, 8); IS(OCTET_DYNAMIC, -1); IS(OCTET_OK, 0); IS(OCTET_INVALID_MODEL, 1);
  IS(OCTET_UNSUPPORTED, 2); IS(OCTET_INVALID_ARGUMENT, 3); IS(OCTET_OUT_OF_MEMORY, 4); IS(OCTET_IO, 5); IS(OCTET_CANCELLED, 6);
  IS(OCTET_INTERNAL, 7); IS(OCTET_DTYPE_NONE, 0); IS(OCTET_DTYPE_F32, 1); IS(OCTET_DTYPE_F16, 2); IS(OCTET_DTYPE_BF16, 3);
  IS(OCTET_DTYPE_F64, 4); IS(OCTET_DTYPE_S8, 5); IS(OCTET_DTYPE_U8, 6); IS(OCTET_DTYPE_S16, 7); IS(OCTET_DTYPE_U16, 8);
  IS(OCTET_DTYPE_S32, 9); IS(OCTET_DTYPE_U32, 10); IS(OCTET_DTYPE_S64, 11); IS(OCTET_DTYPE_U64, 12); IS(OCTET_DTYPE_BOOL, 13);
  IS(OCTET_DTYPE_E4M3FN, 14); IS(OCTET_DTYPE_E4M3FNUZ, 15); IS(OCTET_DTYPE_E5M2, 16); IS(OCTET_DTYPE_E5M2FNUZ, 17);
  IS(OCTET_DTYPE_E8M0, 18); IS(OCTET_DTYPE_E2M1, 19); IS(OCTET_DTYPE_S4, 20); IS(OCTET_DTYPE_U4, 21); IS(OCTET_DTYPE_S2, 22);
  IS(OCTET_DTYPE_U2, 23); IS(OCTET_LOG_INFO, 0); IS(OCTET_LOG_WARNING, 1); IS(OCTET_BUILD_INT8, 1); IS(OCTET_BUILD_F16, 2);
  IS(OCTET_BUILD_BF16, 4); IS(OCTET_BUILD_FASTEST, 8); IS(OCTET_BUILD_FIX_SUBNORMALS, 16); IS(OCTET_BUILD_SKIP_BAD, 32);
  IS(OCTET_BUILD_CONSTANT_DATA, 64);
  IS(OCTET_BUILD_CACHE_OF_ANY_MODEL, 128); IS(OCTET_BUILD_NO_EQUALIZE, 256); IS(OCTET_BUILD_FAVOR_SPEED, 512); IS(OCTET_BUILD_FAVOR_ACCURACY, 1024); IS(OCTET_CONSTRAINTS_PREFER, 0); IS(OCTET_CONSTRAINTS_OBEY, 1);
  IS(OCTET_CONSTRAINTS_NONE, 2); IS(OCTET_RUN_IN_STREAM, 1);
#define AT(field, bytes) CHECK(offsetof(S, field) == (bytes))
#define S octet_tensor_info
  AT(name, 8); AT(dtype, 16); AT(rank, 20); AT(dims, 24); CHECK(sizeof(S) >= 88);
#undef S
#define S octet_tensor
  AT(data, 8); AT(bytes, 16); AT(dtype, 24); AT(rank, 28); AT(dims, 32); AT(strides, 96); AT(device, 104);
  CHECK(sizeof(S) >= 112);
#undef S
#define S octet_progress
  AT(stage, 8); AT(done, 16); AT(total, 24); CHECK(sizeof(S) >= 32);
#undef S
#define S octet_build_options
  AT(flags, 8); AT(threads, 16); AT(constraint_mode, 20); AT(data, 24); AT(max_samples, 32); AT(samples, 40);
  AT(samples_user, 48); AT(cache, 56); AT(ranges, 64); AT(method, 72); AT(save_cache, 80); AT(preprocess, 88);
  AT(layer_types, 96); AT(output_types, 104); AT(keep_float, 112); AT(keep_float_count, 120); AT(input_shapes, 128);
  AT(input_shape_count, 136); AT(weights_folder, 144); AT(progress, 152); AT(log, 160); AT(user, 168); AT(stop, 176);
  CHECK(sizeof(S) >= 184);
#undef S
#define S octet_input_profile
  AT(samples, 8); AT(channel_count, 16); AT(min, 24); AT(max, 32); AT(mean, 40); AT(deviation, 48); AT(has_codes, 56);
  AT(reserved, 60); AT(code_min, 64); AT(code_max, 72); CHECK(sizeof(S) >= 80);
#undef S
#define S octet_context_options
  AT(threads, 8); AT(no_chains, 12); AT(device, 16); AT(pool, 24); AT(tuning, 32); CHECK(sizeof(S) >= 40);
#undef S
#define S octet_run
  AT(inputs, 8); AT(input_count, 16); AT(outputs, 24); AT(output_count, 32); AT(flags, 40); AT(stream, 48);
  AT(cache_rows, 56); CHECK(sizeof(S) >= 64);
#undef S
#define S octet_copy
  AT(destination, 8); AT(source, 16); AT(bytes, 24); AT(device, 32); AT(stream, 40); CHECK(sizeof(S) >= 48);
#undef S
}

static octet_engine* test_build(const char* model) {
  struct samples samples;
  octet_build_options options = int8_options(&samples);
  octet_engine* engine = NULL;
  octet_stop* stop = NULL;
  int calls = 0;
  memset(&samples, 0, sizeof samples);
  samples.most = 8;
  options.progress = count_calls;
  options.user = &calls;
  WORKS(octet_build(model, &options, &engine, &error));
  CHECK(samples.given == 8 && calls > 0 && engine != NULL);

  octet_engine_free(engine);
  options.progress = end_at_once;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_CANCELLED, "");
  CHECK(engine == NULL);
  options.progress = NULL;
  WORKS(octet_stop_create(&stop, &error));
  octet_stop_request(stop);
  options.stop = stop;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_CANCELLED, "");
  options.stop = NULL;
  octet_stop_free(stop);
  samples.given = 0;
  samples.after = -5;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_CANCELLED, "it returned -5");
  samples.given = 0;
  samples.after = 0;
  WORKS(octet_build(model, &options, &engine, &error));
  return engine;
}

static void test_build_errors(const char* model) {
  struct samples samples;
  octet_build_options options = int8_options(&samples);
  octet_engine* engine = NULL;
  octet_error* error = NULL;
  memset(&samples, 0, sizeof samples);
  options.samples = NULL;
  CHECK(octet_build(model, &options, &engine, &error) == OCTET_INVALID_ARGUMENT);
  CHECK(strcmp(octet_error_option(error), "octet_build_options.data") == 0);
  octet_error_free(error);
  options.method = "guess";
  options.samples = next_sample;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_INVALID_ARGUMENT, "guess");
  options.method = NULL;
  options.flags |= (uint64_t)1 << 40;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_UNSUPPORTED, "octet_build_options.flags");
  options.flags = 0;
  options.constraint_mode = 7;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_INVALID_ARGUMENT, "constraint_mode");
  options.constraint_mode = 0;
  options.size = 3;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_INVALID_ARGUMENT, "octet_build_options.size is 3");
  FAILS(octet_build("/nowhere/model.onnx", NULL, &engine, &error), OCTET_IO, "/nowhere/model.onnx");
  FAILS(octet_build_bytes("no model", 8, NULL, &engine, &error), OCTET_INVALID_MODEL, "");
  CHECK(engine == NULL);
}

/* Options that would change nothing. */
static void test_useless_options(const char* model) {
  struct samples samples;
  octet_build_options options = int8_options(&samples);
  octet_engine* engine = NULL;
  memset(&samples, 0, sizeof samples);
#define USELESS(words) FAILS(octet_build(model, &options, &engine, &error), OCTET_INVALID_ARGUMENT, words)
  options.flags = 0;
  USELESS("data, samples, cache or ranges has no use without OCTET_BUILD_INT8");
  options.flags = OCTET_BUILD_INT8;
  options.max_samples = 5;
  USELESS("max_samples has no use without data");
  options.max_samples = 0;
  options.flags = OCTET_BUILD_INT8 | OCTET_BUILD_SKIP_BAD;
  USELESS("OCTET_BUILD_SKIP_BAD has no use without data");
  options.flags = OCTET_BUILD_INT8 | OCTET_BUILD_CACHE_OF_ANY_MODEL;
  USELESS("OCTET_BUILD_CACHE_OF_ANY_MODEL has no use without cache");
  options.flags = OCTET_BUILD_INT8 | OCTET_BUILD_NO_EQUALIZE;
  options.samples = NULL;
  USELESS("OCTET_BUILD_NO_EQUALIZE has no use without OCTET_BUILD_INT8 and data, samples or cache");
  options.flags = OCTET_BUILD_INT8 | OCTET_BUILD_FAVOR_SPEED;
  USELESS("OCTET_BUILD_FAVOR_SPEED has no use without OCTET_BUILD_INT8 and data, samples or cache");
  options.flags = OCTET_BUILD_INT8 | OCTET_BUILD_FAVOR_ACCURACY;
  USELESS("OCTET_BUILD_FAVOR_ACCURACY has no use without OCTET_BUILD_INT8 and data, samples or cache");
  options.flags = OCTET_BUILD_INT8 | OCTET_BUILD_FIX_SUBNORMALS;
  USELESS("OCTET_BUILD_FIX_SUBNORMALS has no use without OCTET_BUILD_F16");
  options.flags = OCTET_BUILD_INT8 | OCTET_BUILD_CONSTANT_DATA;
  options.samples = NULL;
  USELESS("OCTET_BUILD_CONSTANT_DATA has no use without data or samples");
  options.flags = OCTET_BUILD_INT8;
  options.save_cache = "calib.cache";
  USELESS("save_cache has no use without data or samples");
  options.save_cache = NULL;
  options.method = "entropy";
  USELESS("method has no use without data, samples or cache");
  options.method = NULL;
  options.flags = 0;
  options.weights_folder = ".";
  USELESS("weights_folder is for octet_build_bytes()");
  CHECK(engine == NULL && samples.given == 0);
}

static void test_shapes(const char* model) {
  octet_tensor_info shapes[2], info;
  octet_build_options options;
  octet_engine* engine = NULL;
  memset(&options, 0, sizeof options);
  memset(shapes, 0, sizeof shapes);
  memset(&info, 0, sizeof info);
  options.size = sizeof options;
  info.size = sizeof info;
  options.input_shapes = shapes;
  options.input_shape_count = 1;
  shapes[0].size = sizeof shapes[0];
  shapes[0].name = "image";
  shapes[0].rank = 4;
  shapes[0].dims[0] = 2;
  shapes[0].dims[1] = 1;
  shapes[0].dims[2] = shapes[0].dims[3] = 8;
  WORKS(octet_build(model, &options, &engine, &error));
  WORKS(octet_engine_input(engine, 0, &info, &error));
  CHECK(info.dims[0] == 2);
  octet_engine_free(engine);
  options.input_shape_count = 2;
  shapes[1] = shapes[0];
  shapes[1].size = 900;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_INVALID_ARGUMENT, "elements of 88 and of 900 bytes");
  shapes[1].size = shapes[0].size;
  shapes[1].name = NULL;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_INVALID_ARGUMENT, "a name in octet_build_options.input_shapes is NULL");
  options.input_shapes = NULL;
  FAILS(octet_build(model, &options, &engine, &error), OCTET_INVALID_ARGUMENT, "octet_build_options.input_shapes is NULL");
  CHECK(engine == NULL);
}

/* A caller that was compiled for a newer Octet. */
static void test_growth(const char* model) {
  struct {
    octet_build_options known;
    uint64_t later;
  } options;
  struct samples samples;
  octet_build_options int8 = int8_options(&samples);
  octet_engine* engine = NULL;
  memset(&options, 0, sizeof options);
  options.known.size = sizeof options;
  WORKS(octet_build(model, &options.known, &engine, &error));
  octet_engine_free(engine);
  options.later = 1;
  FAILS(octet_build(model, &options.known, &engine, &error), OCTET_UNSUPPORTED, "octet_build_options has");
  memset(&samples, 0, sizeof samples);
  samples.most = 8;
  samples.newer = 1;
  WORKS(octet_build(model, &int8, &engine, &error));
  octet_engine_free(engine);
  samples.given = 0;
  samples.later = 1;
  FAILS(octet_build(model, &int8, &engine, &error), OCTET_UNSUPPORTED, "octet_tensor has");
}

static void test_description(const octet_engine* engine) {
  octet_tensor_info info;
  octet_input_profile profile;
  octet_bytes* json = NULL;
  memset(&info, 0, sizeof info);
  memset(&profile, 0, sizeof profile);
  info.size = sizeof info;
  profile.size = sizeof profile;
  CHECK(octet_engine_input_count(engine) == 1 && octet_engine_output_count(engine) == 1);
  WORKS(octet_engine_input(engine, 0, &info, &error));
  CHECK(strcmp(info.name, "image") == 0 && info.dtype == OCTET_DTYPE_F32 && info.rank == 4);
  CHECK(info.dims[0] == OCTET_DYNAMIC && info.dims[3] == 8);
  WORKS(octet_engine_output(engine, 0, &info, &error));
  CHECK(info.rank == 2 && info.dims[1] == CLASSES);
  CHECK(octet_engine_find_input(engine, "image") == 0 && octet_engine_find_input(engine, "x") == -1);
  CHECK(octet_engine_find_output(engine, info.name) == 0 && octet_engine_find_output(engine, NULL) == -1);
  CHECK(octet_engine_preprocess(engine) == NULL);
  WORKS(octet_engine_input_profile(engine, 0, &profile, &error));
  CHECK(profile.samples == 8 && profile.channel_count == 1 && profile.max[0] == 1.0 && profile.has_codes == 1);
  WORKS(octet_engine_inspect(engine, NULL, &json, &error));
  CHECK(octet_bytes_size(json) == strlen((const char*)octet_bytes_data(json)));
  CHECK(strstr((const char*)octet_bytes_data(json), "\"coverage\"") != NULL);
  octet_bytes_free(json);
  FAILS(octet_engine_input(engine, 1, &info, &error), OCTET_INVALID_ARGUMENT, "there is no input 1; the engine has 1");
  info.size = 0;
  FAILS(octet_engine_input(engine, 0, &info, &error), OCTET_INVALID_ARGUMENT, "octet_tensor_info.size is 0");
}

static void test_files(const octet_engine* engine, const char* folder) {
  char path[4096];
  float first[CLASSES], second[CLASSES];
  octet_engine* loaded = NULL;
  octet_bytes* bytes = NULL;
  snprintf(path, sizeof path, "%s/c.octet", folder);
  answer(engine, 1, 5, first);
  WORKS(octet_engine_save(engine, path, &error));
  WORKS(octet_engine_load(path, &loaded, &error));
  answer(loaded, 1, 5, second);
  CHECK(memcmp(first, second, sizeof first) == 0);
  octet_engine_free(loaded);
  WORKS(octet_engine_to_bytes(engine, &bytes, &error));
  WORKS(octet_engine_load_bytes(octet_bytes_data(bytes), octet_bytes_size(bytes), &loaded, &error));
  answer(loaded, 1, 5, second);
  CHECK(memcmp(first, second, sizeof first) == 0);
  octet_engine_free(loaded);
  FAILS(octet_engine_load_bytes(octet_bytes_data(bytes), octet_bytes_size(bytes) / 2, &loaded, &error), OCTET_INVALID_MODEL, "");
  CHECK(loaded == NULL);
  octet_bytes_free(bytes);
  FAILS(octet_engine_load_bytes("", 0, &loaded, &error), OCTET_INVALID_MODEL, "");
  FAILS(octet_engine_load_bytes(path, UINT64_MAX, &loaded, &error), OCTET_INVALID_ARGUMENT, "more than any memory");
  FAILS(octet_engine_load("/nowhere/e.octet", &loaded, &error), OCTET_IO, "/nowhere/e.octet");
  FAILS(octet_engine_save(engine, "/nowhere/e.octet", &error), OCTET_IO, "/nowhere");
}

static void test_runs(const octet_engine* engine) {
  float pixels[MOST * PIXELS], logits[MOST * CLASSES], again[MOST * CLASSES], strided[MOST * PIXELS * 2];
  const int64_t strides[4] = {2 * PIXELS, 2 * PIXELS, 16, 2};
  octet_context* context = NULL;
  octet_context_options options;
  octet_results* results = NULL;
  octet_pool* pool = NULL;
  octet_tensor_info info;
  octet_tensor input = tensor_of(pixels, MOST, PIXELS), output = tensor_of(logits, MOST, CLASSES), result;
  octet_run run = run_of(&input, &output);
  int i;
  fill(pixels, MOST, 1);
  memset(&options, 0, sizeof options);
  memset(&info, 0, sizeof info);
  memset(&result, 0, sizeof result);
  options.size = sizeof options;
  info.size = sizeof info;
  result.size = sizeof result;
  WORKS(octet_pool_create(2, &pool, &error));
  options.pool = pool;
  WORKS(octet_context_create(engine, &options, &context, &error));
  octet_pool_free(pool); /* the context holds it */
  WORKS(octet_context_prepare(context, &input, 1, &error));
  WORKS(octet_context_output(context, 0, &info, &error));
  CHECK(info.dims[0] == MOST && info.dims[1] == CLASSES && info.name != NULL);
  WORKS(octet_context_run(context, &run, &error));
  WORKS(octet_context_synchronize(context, &error));

  WORKS(octet_context_run_new(context, &run, &results, &error));
  CHECK(octet_results_count(results) == 1);
  WORKS(octet_results_tensor(results, 0, &result, &error));
  CHECK(result.bytes == sizeof logits && memcmp(result.data, logits, sizeof logits) == 0);
  FAILS(octet_results_tensor(results, 1, &result, &error), OCTET_INVALID_ARGUMENT, "no result 1");
  octet_results_free(results);

  for (i = 0; i < MOST * PIXELS; ++i) strided[2 * i] = pixels[i];
  input.data = strided;
  input.strides = strides;
  input.bytes = sizeof strided;
  output.data = again;
  WORKS(octet_context_run(context, &run, &error));
  CHECK(memcmp(again, logits, sizeof logits) == 0);
  input.bytes = sizeof strided / 2;
  FAILS(octet_context_run(context, &run, &error), OCTET_INVALID_ARGUMENT, "input 'image' is given as");
  octet_context_free(context);
}

static void test_memory(const octet_engine* engine) {
  float logits[CLASSES], expected[CLASSES];
  octet_context* context = NULL;
  octet_memory *host = NULL, *on = NULL;
  octet_tensor input = tensor_of(logits, 1, PIXELS), output = tensor_of(logits, 1, CLASSES);
  octet_run run = run_of(&input, &output);
  octet_copy copy;
  answer(engine, 1, 3, expected);
  WORKS(octet_context_create(engine, NULL, &context, &error));
  WORKS(octet_memory_for(context, PIXELS * sizeof(float), &host, &error));
  WORKS(octet_memory_on(NULL, PIXELS * sizeof(float), &on, &error));
  CHECK(octet_memory_size(host) == PIXELS * sizeof(float) && octet_memory_size(NULL) == 0);
  fill((float*)octet_memory_data(on), 1, 3);
  memset(&copy, 0, sizeof copy);
  copy.size = sizeof copy;
  copy.destination = octet_memory_data(host);
  copy.source = octet_memory_data(on);
  copy.bytes = octet_memory_size(host);
  WORKS(octet_memory_copy(&copy, &error));
  input = tensor_of((float*)octet_memory_data(host), 1, PIXELS);
  WORKS(octet_context_run(context, &run, &error));
  CHECK(memcmp(logits, expected, sizeof logits) == 0);
  octet_memory_free(host);
  octet_memory_free(on);
  octet_context_free(context);
  copy.source = NULL;
  FAILS(octet_memory_copy(&copy, &error), OCTET_INVALID_ARGUMENT, "octet_copy.source is NULL");
  FAILS(octet_memory_on("cpu", (uint64_t)1 << 62, &on, &error), OCTET_OUT_OF_MEMORY, "");
  FAILS(octet_memory_on("abacus", 1, &on, &error), OCTET_INVALID_ARGUMENT, "abacus");
}

static void test_wrong_tensors(const octet_engine* engine) {
  float pixels[MOST * PIXELS], logits[CLASSES];
  const int64_t backwards[4] = {PIXELS, PIXELS, -8, 1};
  octet_context* context = NULL;
  octet_tensor good = tensor_of(pixels, 1, PIXELS), input = good, output = tensor_of(logits, 1, CLASSES);
  octet_run run = run_of(&input, &output);
  fill(pixels, 1, 1);
  WORKS(octet_context_create(engine, NULL, &context, &error));
#define REFUSED(words)                                                                     \
  FAILS(octet_context_run(context, &run, &error), OCTET_INVALID_ARGUMENT, words);          \
  input = good
  input.bytes = 100;
  REFUSED("input 'image' is given as f32[1,1,8,8], which takes 256 bytes, in memory of 100");
  input.bytes = 257;
  REFUSED("in memory of 257");
  input.data = NULL;
  REFUSED("its data are NULL");
  input.dtype = 99;
  REFUSED("input 'image' has dtype 99");
  input.dtype = OCTET_DTYPE_S32;
  REFUSED("image");
  input.rank = 9;
  REFUSED("rank 9; expected 0 to 8");
  input.dims[0] = -1;
  REFUSED("size -1 in dimension 0");
  input.dims[2] = 9;
  input.bytes = 72 * sizeof(float);
  REFUSED("image");
  input.dims[0] = INT64_MAX;
  REFUSED("larger than any memory");
  input.strides = backwards;
  REFUSED("negative stride");
  input.device = "cuda:9";
  REFUSED("cuda:9");
  input.size = 1;
  REFUSED("octet_tensor.size is 1");
  run.inputs = NULL;
  REFUSED("inputs is NULL");
  run.inputs = &input;
  run.input_count = 2;
  REFUSED("got 2 inputs; the engine has 1");
  run.input_count = 1;
  output.bytes = 4;
  REFUSED("which takes 40 bytes, in memory of 4");
  output = tensor_of(logits, 1, CLASSES - 1);
  REFUSED("output 0 has type");
  output = tensor_of(logits, 1, CLASSES);
  run.flags = 1024;
  FAILS(octet_context_run(context, &run, &error), OCTET_UNSUPPORTED, "octet_run.flags");
  run.flags = 0;
  WORKS(octet_context_run(context, &run, &error)); /* it serves as before */
  octet_context_free(context);
}

static void test_contexts(const octet_engine* engine) {
  octet_context_options options;
  octet_context* context = NULL;
  octet_pool* pool = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.device = "abacus";
  FAILS(octet_context_create(engine, &options, &context, &error), OCTET_INVALID_ARGUMENT, "abacus");
  options.device = NULL;
  options.threads = -1;
  FAILS(octet_context_create(engine, &options, &context, &error), OCTET_INVALID_ARGUMENT, "threads is -1");
  options.threads = 0;
  options.tuning = "/nowhere/t.json";
  FAILS(octet_context_create(engine, &options, &context, &error), OCTET_IO, "/nowhere/t.json");
  FAILS(octet_pool_create(0, &pool, &error), OCTET_INVALID_ARGUMENT, "a pool of 0 threads");
  FAILS(octet_load_plugin("/nowhere/p.so", &error), OCTET_IO, "/nowhere/p.so");
  FAILS(octet_set_memory_limit(-1, &error), OCTET_INVALID_ARGUMENT, "-1");
  CHECK(context == NULL && pool == NULL);
}

/* NULL wherever a pointer is taken. */
static void test_null(const octet_engine* engine) {
  octet_engine* made = NULL;
  octet_context* context = NULL;
  octet_results* results = NULL;
  octet_bytes* bytes = NULL;
  octet_memory* memory = NULL;
  octet_tensor_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  FAILS(octet_build(NULL, NULL, &made, &error), OCTET_INVALID_ARGUMENT, "onnx_file is NULL");
  FAILS(octet_build("x", NULL, NULL, &error), OCTET_INVALID_ARGUMENT, "out is NULL");
  FAILS(octet_build_bytes(NULL, 1, NULL, &made, &error), OCTET_INVALID_ARGUMENT, "onnx_model is NULL");
  FAILS(octet_engine_load(NULL, &made, &error), OCTET_INVALID_ARGUMENT, "file is NULL");
  FAILS(octet_engine_load("x", NULL, &error), OCTET_INVALID_ARGUMENT, "out is NULL");
  FAILS(octet_engine_load_bytes(NULL, 0, &made, &error), OCTET_INVALID_ARGUMENT, "data is NULL");
  FAILS(octet_engine_save(NULL, "x", &error), OCTET_INVALID_ARGUMENT, "engine is NULL");
  FAILS(octet_engine_save(engine, NULL, &error), OCTET_INVALID_ARGUMENT, "file is NULL");
  FAILS(octet_engine_to_bytes(NULL, &bytes, &error), OCTET_INVALID_ARGUMENT, "engine is NULL");
  FAILS(octet_engine_input(NULL, 0, &info, &error), OCTET_INVALID_ARGUMENT, "engine is NULL");
  FAILS(octet_engine_output(engine, 0, NULL, &error), OCTET_INVALID_ARGUMENT, "info is NULL");
  FAILS(octet_engine_input_profile(engine, 0, NULL, &error), OCTET_INVALID_ARGUMENT, "profile is NULL");
  FAILS(octet_engine_inspect(NULL, NULL, &bytes, &error), OCTET_INVALID_ARGUMENT, "engine is NULL");
  FAILS(octet_pool_create(1, NULL, &error), OCTET_INVALID_ARGUMENT, "out is NULL");
  FAILS(octet_stop_create(NULL, &error), OCTET_INVALID_ARGUMENT, "out is NULL");
  FAILS(octet_context_create(NULL, NULL, &context, &error), OCTET_INVALID_ARGUMENT, "engine is NULL");
  FAILS(octet_context_prepare(NULL, NULL, 0, &error), OCTET_INVALID_ARGUMENT, "context is NULL");
  FAILS(octet_context_output(NULL, 0, &info, &error), OCTET_INVALID_ARGUMENT, "context is NULL");
  FAILS(octet_context_run(NULL, NULL, &error), OCTET_INVALID_ARGUMENT, "context is NULL");
  FAILS(octet_context_run_new(NULL, NULL, &results, &error), OCTET_INVALID_ARGUMENT, "context is NULL");
  FAILS(octet_context_synchronize(NULL, &error), OCTET_INVALID_ARGUMENT, "context is NULL");
  FAILS(octet_results_tensor(NULL, 0, NULL, &error), OCTET_INVALID_ARGUMENT, "results is NULL");
  FAILS(octet_memory_for(NULL, 1, &memory, &error), OCTET_INVALID_ARGUMENT, "context is NULL");
  FAILS(octet_memory_copy(NULL, &error), OCTET_INVALID_ARGUMENT, "copy is NULL");
  FAILS(octet_device_check(NULL, &error), OCTET_INVALID_ARGUMENT, "device is NULL");
  FAILS(octet_load_plugin(NULL, &error), OCTET_INVALID_ARGUMENT, "library is NULL");
  WORKS(octet_context_create(engine, NULL, &context, &error));
  FAILS(octet_context_run(context, NULL, &error), OCTET_INVALID_ARGUMENT, "run is NULL");
  octet_context_free(context);
  CHECK(octet_engine_load(NULL, NULL, NULL) == OCTET_INVALID_ARGUMENT); /* nobody wants to know more */
  CHECK(octet_engine_input_count(NULL) == 0 && octet_engine_output_count(NULL) == 0);
  CHECK(octet_engine_find_input(NULL, "x") == -1 && octet_engine_preprocess(NULL) == NULL);
  CHECK(octet_bytes_data(NULL) == NULL && octet_bytes_size(NULL) == 0 && octet_memory_data(NULL) == NULL);
  CHECK(octet_results_count(NULL) == 0);
  CHECK(octet_error_status(NULL) == OCTET_OK && octet_error_context_count(NULL) == 0);
  CHECK(*octet_error_message(NULL) == 0 && *octet_error_text(NULL) == 0 && *octet_error_option(NULL) == 0);
  CHECK(*octet_error_context(NULL, 0) == 0);
  octet_stop_request(NULL);
  octet_stop_free(NULL);
  octet_error_free(NULL);
  octet_bytes_free(NULL);
  octet_engine_free(NULL);
  octet_pool_free(NULL);
  octet_context_free(NULL);
  octet_results_free(NULL);
  octet_memory_free(NULL);
}

struct worker {
  pthread_t thread;
  const octet_engine* engine;
  octet_context* shared;
  int seed;
  int equal, refused, other;
};

/* A context of its own, whose answers do not change; and one that others use, too, which refuses a second call and stays whole. */
static void* work(void* argument) {
  struct worker* worker = (struct worker*)argument;
  float pixels[PIXELS], expected[CLASSES], logits[CLASSES];
  octet_context* context = NULL;
  octet_tensor input = tensor_of(pixels, 1, PIXELS), output = tensor_of(logits, 1, CLASSES);
  const octet_run run = run_of(&input, &output);
  int i;
  fill(pixels, 1, worker->seed);
  if (octet_context_create(worker->engine, NULL, &context, NULL) != OCTET_OK) return NULL;
  octet_context_run(context, &run, NULL);
  memcpy(expected, logits, sizeof logits);
  for (i = 0; i < RUNS; ++i) {
    const octet_status status = octet_context_run(i % 2 == 0 ? context : worker->shared, &run, NULL);
    if (status == OCTET_OK && memcmp(expected, logits, sizeof logits) == 0)
      ++worker->equal;
    else if (status == OCTET_INVALID_ARGUMENT && i % 2 == 1)
      ++worker->refused;
    else
      ++worker->other;
  }
  octet_context_free(context);
  return NULL;
}

static void test_threads(octet_engine* engine) {
  struct worker workers[THREADS];
  octet_context* shared = NULL;
  int i;
  memset(workers, 0, sizeof workers);
  WORKS(octet_context_create(engine, NULL, &shared, &error));
  for (i = 0; i < THREADS; ++i) {
    workers[i].engine = engine;
    workers[i].shared = shared;
    workers[i].seed = i;
    CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  for (i = 0; i < THREADS; ++i) {
    pthread_join(workers[i].thread, NULL);
    CHECK(workers[i].other == 0 && workers[i].equal + workers[i].refused == RUNS && workers[i].equal >= RUNS / 2);
  }
  /* An engine may end before its contexts. */
  octet_engine_free(engine);
  {
    float pixels[PIXELS], logits[CLASSES];
    octet_tensor input = tensor_of(pixels, 1, PIXELS), output = tensor_of(logits, 1, CLASSES);
    const octet_run run = run_of(&input, &output);
    fill(pixels, 1, 0);
    WORKS(octet_context_run(shared, &run, &error));
  }
  octet_context_free(shared);
}

int main(int argc, char** argv) {
  octet_engine* engine;
  if (argc != 3) {
    fputs("usage: capi_test MODEL.onnx FOLDER\n", stderr);
    return 2;
  }
  test_versions();
  test_what_never_changes();
  engine = test_build(argv[1]);
  test_build_errors(argv[1]);
  test_useless_options(argv[1]);
  test_shapes(argv[1]);
  test_growth(argv[1]);
  if (engine == NULL) return 1;
  test_description(engine);
  test_files(engine, argv[2]);
  test_runs(engine);
  test_memory(engine);
  test_wrong_tensors(engine);
  test_contexts(engine);
  test_null(engine);
  test_threads(engine);
  printf("%d failures\n", failures);
  return failures != 0;
}
