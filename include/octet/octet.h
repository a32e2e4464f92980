/* SPDX-License-Identifier: Apache-2.0
 *
 * Octet in C: build engines from ONNX models, load them, run them. For programs in C, Rust, Go, C#, Java and whatever else calls C; no type
 * and no exception of C++ crosses. The library is liboctet_c (CMake: Octet::c; pkg-config: octet). docs/c-api.md begins with an example.
 *
 * Ownership    What a function gives through `octet_x** out` is the caller's, to be ended by octet_x_free(), which takes NULL. Where the
 *              function fails, `*out` is NULL. Texts (const char*) and data behind an object live as long as the object. Objects hold what
 *              they need: an engine may be freed before its contexts. What the caller gives is read during the call, unless said otherwise.
 * Threads      Functions may be called by any threads at once. An engine, a pool and a stop may be shared; a context serves one call at a time
 *              (a second one is refused with OCTET_INVALID_ARGUMENT, and nothing breaks), so each thread has its own. An object is freed by
 *              one thread, when no other uses it. No thread may be cancelled (pthread_cancel) within a call.
 * Errors       Functions that can fail return a status, and give an object that says more through `error` (NULL: not wanted), the
 *              caller's to free; after a success it is NULL. No state is kept between calls, in a thread or elsewhere. A pointer that must not
 *              be NULL and is so is OCTET_INVALID_ARGUMENT, as is a struct whose `size` cannot be right.
 * Structs      begin with their size in bytes, as the caller knows them: `octet_tensor t = {.size = sizeof t};`. Fields that are 0 or NULL have their
 *              default, and options that are NULL altogether have all of theirs. Structs grow at their ends only. A library that is older than
 *              the caller takes those in which all that it does not know is 0, and refuses others with OCTET_UNSUPPORTED. In arrays, elements
 *              are `size` of the first apart.
 * Numbers      Element types, flags and statuses keep their numbers. Names with bytes beyond ASCII are UTF-8 as far as models are.
 */
#ifndef OCTET_OCTET_H
#define OCTET_OCTET_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCTET_ABI 1u
#define OCTET_MAX_RANK 8
#define OCTET_DYNAMIC (-1) /* a size that each run may choose */

#if defined(_WIN32)
#define OCTET_API __declspec(dllexport)
#else
#define OCTET_API __attribute__((visibility("default")))
#endif

/* ---- Versions ---- */

/* Of the library: "0.1.0". */
OCTET_API const char* octet_version(void);
/* OCTET_ABI of the library: a program works with one whose number is its own; what is added later changes no number. */
OCTET_API uint32_t octet_abi_version(void);

/* ---- Errors ---- */

typedef int32_t octet_status;
enum {
  OCTET_OK = 0,
  OCTET_INVALID_MODEL = 1,    /* an ONNX model or an engine file is malformed */
  OCTET_UNSUPPORTED = 2,      /* well-formed, but outside what Octet or this machine does */
  OCTET_INVALID_ARGUMENT = 3, /* an argument, option, tensor or data file is wrong */
  OCTET_OUT_OF_MEMORY = 4,    /* a stated limit would be passed */
  OCTET_IO = 5,               /* the operating system refused a file */
  OCTET_CANCELLED = 6,        /* the caller ended the call */
  OCTET_INTERNAL = 7          /* a bug of Octet's */
};

/* "invalid_model"; "unknown" for a number that is none. */
OCTET_API const char* octet_status_name(octet_status status);

typedef struct octet_error octet_error;
/* Of all of these an error that is NULL has an answer: OCTET_OK, "" or 0. */
OCTET_API octet_status octet_error_status(const octet_error* error);
/* What is wrong: file, node or tensor, what was expected and what came, and what to do. */
OCTET_API const char* octet_error_message(const octet_error* error);
/* Where it happened, innermost first: "importing node 'up3' (Resize)", "compiling 'yolo.onnx'". "" beyond the last. */
OCTET_API uint64_t octet_error_context_count(const octet_error* error);
OCTET_API const char* octet_error_context(const octet_error* error, uint64_t index);
/* Message and context, one line each. */
OCTET_API const char* octet_error_text(const octet_error* error);
/* The option or function that helps, as this header calls it: "octet_build_options.input_shapes"; "" where none does. */
OCTET_API const char* octet_error_option(const octet_error* error);
OCTET_API void octet_error_free(octet_error* error);

/* ---- Bytes that a function gives: a text, which a zero follows, or a file's content ---- */

typedef struct octet_bytes octet_bytes;
OCTET_API const void* octet_bytes_data(const octet_bytes* bytes);
OCTET_API uint64_t octet_bytes_size(const octet_bytes* bytes);
OCTET_API void octet_bytes_free(octet_bytes* bytes);

/* ---- Tensors ---- */

typedef int32_t octet_dtype;
enum {
  OCTET_DTYPE_NONE = 0,
  OCTET_DTYPE_F32 = 1,
  OCTET_DTYPE_F16 = 2,
  OCTET_DTYPE_BF16 = 3,
  OCTET_DTYPE_F64 = 4,
  OCTET_DTYPE_S8 = 5,
  OCTET_DTYPE_U8 = 6,
  OCTET_DTYPE_S16 = 7,
  OCTET_DTYPE_U16 = 8,
  OCTET_DTYPE_S32 = 9,
  OCTET_DTYPE_U32 = 10,
  OCTET_DTYPE_S64 = 11,
  OCTET_DTYPE_U64 = 12,
  OCTET_DTYPE_BOOL = 13, /* one byte, 0 or 1 */
  /* Of fewer bits: one element in a byte. Floats are bit patterns in the low bits, integers are numbers. */
  OCTET_DTYPE_E4M3FN = 14,
  OCTET_DTYPE_E4M3FNUZ = 15,
  OCTET_DTYPE_E5M2 = 16,
  OCTET_DTYPE_E5M2FNUZ = 17,
  OCTET_DTYPE_E8M0 = 18,
  OCTET_DTYPE_E2M1 = 19,
  OCTET_DTYPE_S4 = 20,
  OCTET_DTYPE_U4 = 21,
  OCTET_DTYPE_S2 = 22,
  OCTET_DTYPE_U2 = 23
};

/* "f32"; "unknown" for a number that is none. */
OCTET_API const char* octet_dtype_name(octet_dtype dtype);
/* Of one element; 0 for a number that is none. */
OCTET_API uint64_t octet_dtype_bytes(octet_dtype dtype);

/* What an input or output is. */
typedef struct octet_tensor_info {
  uint64_t size;
  const char* name;
  octet_dtype dtype;
  int32_t rank;                 /* -1: not even the number of dimensions is known before a run */
  int64_t dims[OCTET_MAX_RANK]; /* OCTET_DYNAMIC where any size is taken */
} octet_tensor_info;

/* Memory of the caller's (or of octet_memory) as a tensor. Of host memory it is read or written in place where the tensor is dense and `data` a
 * multiple of the element's size, else it is copied once. */
typedef struct octet_tensor {
  uint64_t size;
  void* data; /* the first element; of an input it is only read */
  uint64_t
      bytes; /* of the memory: as many as a dense tensor takes, no more and no fewer; with strides at least as many as they reach */
  octet_dtype dtype;
  int32_t rank;
  int64_t dims[OCTET_MAX_RANK];
  const int64_t*
      strides;        /* of each dimension, in elements, none negative; NULL: dense, row-major */
  const char* device; /* whose memory it is: NULL or "cpu", or the context's device, "cuda:0" */
} octet_tensor;

/* ---- Building: progress, log, stop ---- */

typedef struct octet_progress {
  uint64_t size;
  const char* stage; /* "import", "calibrate", ... */
  int64_t done;
  int64_t total; /* 0: not known */
} octet_progress;

/* Called in the thread of the call that it reports on; another answer than 0 ends that call with OCTET_CANCELLED. No callback may throw or
 * jump out of itself, or free what the call uses. */
typedef int32_t (*octet_progress_function)(void* user, const octet_progress* progress);

enum {
  OCTET_LOG_INFO = 0,
  OCTET_LOG_WARNING = 1 /* worth a look: skipped files, doubtful data */
};
/* One line, without its end. */
typedef void (*octet_log_function)(void* user, int32_t level, const char* text);

/* Samples of the caller's own. There is one tensor for each input of the model, with its type, and its sizes where the model fixes them
 * (1 elsewhere); the function sets data, bytes and dims, or the whole struct with its size. What it gives is read before it is called again.
 * 1: a sample; 0: there are no more; else the call ends with OCTET_CANCELLED. It is called by one thread at a time, not always the same. */
typedef int32_t (*octet_samples_function)(void* user, octet_tensor* const* inputs,
                                          uint64_t input_count);

/* Ends a call from another thread, within one sample or pass. */
typedef struct octet_stop octet_stop;
OCTET_API octet_status octet_stop_create(octet_stop** out, octet_error** error);
OCTET_API void octet_stop_request(octet_stop* stop);
OCTET_API void octet_stop_free(octet_stop* stop);

/* ---- Engines ---- */

enum {
  OCTET_BUILD_INT8 = 1 << 0,
  OCTET_BUILD_F16 = 1 << 1,     /* of the layers that are not INT8 */
  OCTET_BUILD_BF16 = 1 << 2,    /* with F16: where f16 does not hold the weights */
  OCTET_BUILD_FASTEST = 1 << 3, /* the fastest types on `target`, of layers that are not INT8 */
  OCTET_BUILD_FIX_SUBNORMALS = 1 << 4, /* rescales layers whose weights f16 does not hold */
  OCTET_BUILD_SKIP_BAD = 1 << 5,       /* counts and skips unreadable data files */
  OCTET_BUILD_CONSTANT_DATA = 1 << 6,  /* takes data that are one number in all samples */
  OCTET_BUILD_CACHE_OF_ANY_MODEL = 1 << 7,
  OCTET_BUILD_NO_EQUALIZE = 1 << 8, /* leaves channels that share a scale as they are */
  /* What the codes of each layer cost is measured on samples, and layers that stay in f32 for accuracy slow the engine not at all, or by at most 20 %. */
  OCTET_BUILD_FAVOR_SPEED = 1 << 9,
  OCTET_BUILD_FAVOR_ACCURACY = 1 << 10
};

enum {
  OCTET_CONSTRAINTS_PREFER = 0, /* met where there is a way, else a warning */
  OCTET_CONSTRAINTS_OBEY = 1,   /* met, or the build fails */
  OCTET_CONSTRAINTS_NONE = 2    /* recorded alone */
};

/* An option that would change nothing (a method without data, data without OCTET_BUILD_INT8) is OCTET_INVALID_ARGUMENT. */
typedef struct octet_build_options {
  uint64_t size;
  uint64_t flags;  /* OCTET_BUILD_... */
  int32_t threads; /* of calibration; 0: 1 */
  int32_t constraint_mode;
  /* INT8 takes its ranges from one of: data, samples, cache, ranges (docs/calibration.md), or from Q/DQ nodes in the model. */
  const char* data;    /* folder of images or arrays, or one such file */
  int64_t max_samples; /* of data; 0: all */
  octet_samples_function samples;
  void* samples_user;
  const char* cache;      /* file that an earlier calibration left */
  const char* ranges;     /* text: lines "tensor: min max", or a JSON object */
  const char* method;     /* "entropy", "percentile:99.99", ... */
  const char* save_cache; /* file that the calibration is written to */
  const char* preprocess; /* JSON object: how images become inputs */
  /* "conv1:int8,/head/...:f32" (with '*' and '?' in names): what layers compute in, and what they give. */
  const char* layer_types;
  const char* output_types;
  const char* const* keep_float; /* names of nodes or operators that stay in f32 */
  uint64_t keep_float_count;
  const octet_tensor_info* input_shapes; /* name, rank and dims: fixes dynamic sizes */
  uint64_t input_shape_count;
  const char* weights_folder; /* of a model that is given as bytes: where its weights files are */
  octet_progress_function progress;
  octet_log_function log;
  void* user; /* of progress and log */
  const octet_stop* stop;
  /* With OCTET_BUILD_FASTEST: "cpu", "cpu:amx", "cuda", "cuda:sm90", ...; NULL: this machine's processor. */
  const char* target;
} octet_build_options;

typedef struct octet_engine octet_engine;

OCTET_API octet_status octet_build(const char* onnx_file, const octet_build_options* options,
                                   octet_engine** out, octet_error** error);
OCTET_API octet_status octet_build_bytes(const void* onnx_model, uint64_t bytes,
                                         const octet_build_options* options, octet_engine** out,
                                         octet_error** error);

OCTET_API octet_status octet_engine_load(const char* file, octet_engine** out, octet_error** error);
/* From the bytes of such a file, which are copied. */
OCTET_API octet_status octet_engine_load_bytes(const void* data, uint64_t bytes, octet_engine** out,
                                               octet_error** error);
/* Under a temporary name beside `file`, then renamed. */
OCTET_API octet_status octet_engine_save(const octet_engine* engine, const char* file,
                                         octet_error** error);
OCTET_API octet_status octet_engine_to_bytes(const octet_engine* engine, octet_bytes** out,
                                             octet_error** error);
OCTET_API void octet_engine_free(octet_engine* engine);

/* 0 for NULL. */
OCTET_API uint64_t octet_engine_input_count(const octet_engine* engine);
OCTET_API uint64_t octet_engine_output_count(const octet_engine* engine);
/* Runs take and give tensors in this order. `info->size` must be set. */
OCTET_API octet_status octet_engine_input(const octet_engine* engine, uint64_t index,
                                          octet_tensor_info* info, octet_error** error);
OCTET_API octet_status octet_engine_output(const octet_engine* engine, uint64_t index,
                                           octet_tensor_info* info, octet_error** error);
/* -1: there is none of that name. */
OCTET_API int64_t octet_engine_find_input(const octet_engine* engine, const char* name);
OCTET_API int64_t octet_engine_find_output(const octet_engine* engine, const char* name);
/* How images became inputs in calibration, a JSON object; NULL: nobody said. */
OCTET_API const char* octet_engine_preprocess(const octet_engine* engine);

/* What calibration saw of an input, over all samples: of each channel of an image, else of all elements as one. */
typedef struct octet_input_profile {
  uint64_t size;
  int64_t samples; /* 0: nothing is known */
  uint64_t channel_count;
  const double* min; /* channel_count numbers each */
  const double* max;
  const double* mean;
  const double* deviation;
  int32_t
      has_codes; /* 1: the input is quantized as it comes; what lies beyond these two is clipped */
  int32_t reserved;
  double code_min;
  double code_max;
} octet_input_profile;
OCTET_API octet_status octet_engine_input_profile(const octet_engine* engine, uint64_t index,
                                                  octet_input_profile* profile,
                                                  octet_error** error);

/* Layers, their precision with its reason and their kernels, and coverage, on a device (NULL: "cpu"): the JSON text of
 * `octet inspect --json`. */
OCTET_API octet_status octet_engine_inspect(const octet_engine* engine, const char* device,
                                            octet_bytes** out, octet_error** error);

/* ---- Contexts ---- */

/* Threads that several contexts share: one run at a time uses them. */
typedef struct octet_pool octet_pool;
OCTET_API octet_status octet_pool_create(int32_t threads, octet_pool** out, octet_error** error);
OCTET_API void octet_pool_free(octet_pool* pool);

typedef struct octet_context_options {
  uint64_t size;
  int32_t threads;    /* of its own; 0: 1. With a pool that one's count */
  int32_t no_chains;  /* 1: each layer by itself, for bisecting */
  const char* device; /* NULL: "cpu"; "cuda:0" */
  const octet_pool* pool;
  const char* tuning; /* file of measured choices of kernels */
} octet_context_options;

typedef struct octet_context octet_context;
OCTET_API octet_status octet_context_create(const octet_engine* engine,
                                            const octet_context_options* options,
                                            octet_context** out, octet_error** error);
OCTET_API void octet_context_free(octet_context* context);

/* Plans for these inputs, of which type and sizes alone are looked at, and of the first its device: for all inputs and outputs in that memory. A run
 * does so on demand. */
OCTET_API octet_status octet_context_prepare(octet_context* context, const octet_tensor* inputs,
                                             uint64_t input_count, octet_error** error);
/* An output for the sizes prepared or run last; OCTET_DYNAMIC where only data tell a size, before the run. */
OCTET_API octet_status octet_context_output(octet_context* context, uint64_t index,
                                            octet_tensor_info* info, octet_error** error);

enum {
  /* The run takes its place in `stream`, a stream of the context's device (a cudaStream_t; NULL: CUDA's default one). The call returns when the
   * work is given, where all of it is the device's: memory must stay until the stream is done with it. */
  OCTET_RUN_IN_STREAM = 1 << 0
};

typedef struct octet_run {
  uint64_t size;
  const octet_tensor* inputs; /* in the engine's order */
  uint64_t input_count;
  const octet_tensor*
      outputs; /* memory of the caller's, likewise; not read by octet_context_run_new() */
  uint64_t output_count;
  uint64_t flags; /* OCTET_RUN_... */
  void* stream;
  /* Of a decoder whose caches grow, and of octet_context_run() alone: the rows of the buffers that caches lie in. 0: tensors mean what they show, and a run
   * touches nothing else. Otherwise the caller promises of each cache that its tensor among the inputs and that among the outputs begin at the first row of
   * dense buffers of so many rows that hold nothing else, the same buffer or two; their strides are those of such buffers. The run then writes the new rows
   * there, and may write zeros to all rows behind them, instead of copying the cache. */
  int64_t cache_rows;
} octet_run;

/* Into the caller's memory. Nothing of it is kept after the call, and once the sizes were seen a run allocates nothing. */
OCTET_API octet_status octet_context_run(octet_context* context, const octet_run* run,
                                         octet_error** error);
/* Into fresh memory: for models whose outputs' sizes depend on data. */
typedef struct octet_results octet_results;
OCTET_API octet_status octet_context_run_new(octet_context* context, const octet_run* run,
                                             octet_results** out, octet_error** error);
/* 0 for NULL. */
OCTET_API uint64_t octet_results_count(const octet_results* results);
/* `tensor->size` must be set; its data are the results' own. */
OCTET_API octet_status octet_results_tensor(const octet_results* results, uint64_t index,
                                            octet_tensor* tensor, octet_error** error);
OCTET_API void octet_results_free(octet_results* results);

/* Returns when all runs are done that were given with a stream, and gives the first error of theirs. */
OCTET_API octet_status octet_context_synchronize(octet_context* context, octet_error** error);

/* ---- Memory ---- */

typedef struct octet_memory octet_memory;
/* Of the host, copied fastest to and from the context's device (page-locked for a GPU), zeroed. */
OCTET_API octet_status octet_memory_for(const octet_context* context, uint64_t bytes,
                                        octet_memory** out, octet_error** error);
/* Of a device, zeroed. */
OCTET_API octet_status octet_memory_on(const char* device, uint64_t bytes, octet_memory** out,
                                       octet_error** error);
OCTET_API void* octet_memory_data(const octet_memory* memory);
OCTET_API uint64_t octet_memory_size(const octet_memory* memory);
OCTET_API void octet_memory_free(octet_memory* memory);

/* Between the host and a device, or within either, where the two do not overlap: after what `stream` was given (NULL: CUDA's default one), done when it
 * returns. */
typedef struct octet_copy {
  uint64_t size;
  void* destination;
  const void* source;
  uint64_t bytes;
  const char* device;
  void* stream;
} octet_copy;
OCTET_API octet_status octet_memory_copy(const octet_copy* copy, octet_error** error);

/* ---- The process ---- */

/* OCTET_OK: contexts may be made for the device; else the error says what is missing. */
OCTET_API octet_status octet_device_check(const char* device, octet_error** error);
/* Processors that this process may use, as its affinity and control group say. */
OCTET_API int32_t octet_usable_processors(void);
/* Bytes of tensors, weights and activations alive at once; 0: three quarters of what the process may have. Set it before work begins. */
OCTET_API octet_status octet_set_memory_limit(int64_t bytes, octet_error** error);
/* Adds the operators of a library (docs/plugins.md), for as long as the process lives. It is native code with all rights of the process; only this
 * call loads one. */
OCTET_API octet_status octet_load_plugin(const char* library, octet_error** error);

#ifdef __cplusplus
}
#endif
#endif
