/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that a shared library adds to Octet: the binary interface, in C. docs/plugins.md goes from an empty folder to an INT8
 * operator in a running engine; octet/plugin_cpp.h is a thin layer of C++ over this.
 *
 * Rules of the interface:
 *  - The first field of every struct is its size in bytes, as its maker knows the struct. Structs only grow at their ends, so each side
 *    reads what both know. Elements of an array lie `size` of the first apart.
 *  - No exception, no allocation and no type of C++ crosses. What a side allocates it frees; strings and declarations live as long as the
 *    library, which is never unloaded.
 *  - A function returns OCTET_PLUGIN_OK or another status, and may write a sentence into `message`.
 */
#ifndef OCTET_PLUGIN_H
#define OCTET_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCTET_PLUGIN_ABI 1u
#define OCTET_PLUGIN_MAX_RANK 8

#if defined(_WIN32)
#define OCTET_PLUGIN_EXPORT __declspec(dllexport)
#else
#define OCTET_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* Statuses. */
enum {
  OCTET_PLUGIN_OK = 0,
  OCTET_PLUGIN_REFUSED = 1, /* these attributes or shapes are none of the operator's */
  OCTET_PLUGIN_FAILED = 2   /* it could not do what it should */
};

/* Element types. */
enum {
  OCTET_TYPE_NONE = 0, /* of an input that is left out */
  OCTET_TYPE_F32 = 1,
  OCTET_TYPE_F16 = 2,
  OCTET_TYPE_BF16 = 3,
  OCTET_TYPE_F64 = 4,
  OCTET_TYPE_S8 = 5,
  OCTET_TYPE_U8 = 6,
  OCTET_TYPE_S16 = 7,
  OCTET_TYPE_U16 = 8,
  OCTET_TYPE_S32 = 9,
  OCTET_TYPE_U32 = 10,
  OCTET_TYPE_S64 = 11,
  OCTET_TYPE_U64 = 12,
  OCTET_TYPE_BOOL = 13
};

/* How elements lie in memory; `dims` are always in the order of the shape (N, C, H, W). Tensors are dense. */
enum {
  OCTET_LAYOUT_LINEAR = 0, /* row-major in the order of the shape */
  OCTET_LAYOUT_NHWC = 1    /* rank 4 alone: memory is N, H, W, C */
};

/* Where pointers point. */
enum {
  OCTET_DEVICE_HOST = 0, /* memory of the host; the result is there when `run` returns */
  OCTET_DEVICE_CUDA = 1 /* device memory of CUDA; work is put into `stream` and may be done later */
};

/* What the elements of a u8 or s8 tensor mean: real = scale * (code - zero_point). */
enum {
  OCTET_PARAMS_NONE = 0,       /* numbers that stand for themselves */
  OCTET_PARAMS_PER_TENSOR = 1, /* one scale, one zero point */
  OCTET_PARAMS_PER_CHANNEL = 2 /* one for each index of dimension `axis` */
};

/* Kinds of attributes, and of their values. */
enum {
  OCTET_ATTRIBUTE_INT = 1,
  OCTET_ATTRIBUTE_FLOAT = 2,
  OCTET_ATTRIBUTE_TEXT = 3,
  OCTET_ATTRIBUTE_INTS = 4,
  OCTET_ATTRIBUTE_FLOATS = 5
};

typedef struct octet_plugin_value {
  uint64_t size;
  const char* name;
  uint32_t type; /* OCTET_ATTRIBUTE_... */
  uint32_t reserved;
  uint64_t count; /* of numbers; 1 for an INT or FLOAT; bytes of a text without its final zero */
  const int64_t* ints;
  const float* floats;
  const char* text;
} octet_plugin_value;

/* A model's attribute that is not declared, of another kind, or outside these bounds is refused before the plugin sees it. */
typedef struct octet_plugin_attribute {
  uint64_t size;
  const char* name; /* a letter or _, then letters, digits and _ */
  uint32_t type;    /* OCTET_ATTRIBUTE_... */
  uint32_t reserved;
  const octet_plugin_value* otherwise; /* the default; null: a model must give it */
  double least, most;                  /* of each number; equal: any finite number */
  uint64_t min_count, max_count;       /* of a list, or of the bytes of a text; both 0: any */
  const char* choices;                 /* of a text: "nearest|linear"; null: any */
} octet_plugin_attribute;

/* Flags of ports. */
enum {
  /* A model may leave it out: an input's tensor has OCTET_TYPE_NONE then; an output's has its type, and memory that nobody reads. */
  OCTET_PORT_OPTIONAL = 1,
  OCTET_PORT_VARIADIC =
      2, /* the last one: any number of tensors from min_count on, which share its formats */
  OCTET_PORT_CONSTANT = 4, /* input: a weight, whose data the shape rule sees too */
  /* Output: data tell some of its dimensions (octet_plugin_tensor.open_dims). It holds numbers, never codes: nobody knows their range
   * before the size. */
  OCTET_PORT_DATA_SIZED = 8
};

typedef struct octet_plugin_port {
  uint64_t size;
  const char* name;
  uint32_t flags;
  uint32_t min_count;         /* of a variadic one */
  int32_t min_rank, max_rank; /* what the plugin is called with */
} octet_plugin_port;

/* Flags of formats. */
enum {
  OCTET_FORMAT_SYMMETRIC = 1 /* s8 codes with zero point 0 */
};

/* How one tensor is given or taken. */
typedef struct octet_plugin_format {
  uint64_t size;
  uint32_t type;   /* OCTET_TYPE_... */
  uint32_t layout; /* OCTET_LAYOUT_... */
  uint32_t params; /* OCTET_PARAMS_... */
  uint32_t flags;
  int32_t axis; /* of per-channel parameters */
  uint32_t reserved;
} octet_plugin_format;

/* Flags of tensors. */
enum {
  OCTET_TENSOR_CONSTANT = 1 /* the same data in every call */
};

typedef struct octet_plugin_tensor {
  uint64_t size;
  uint32_t type;
  uint32_t layout;
  uint32_t params;
  uint32_t flags;
  int32_t axis;
  int32_t rank;
  int64_t dims[OCTET_PLUGIN_MAX_RANK];
  uint64_t param_count; /* of scales and of zero points; each tensor has its own */
  const float* scales;
  const int32_t* zero_points;
  /* 64-byte aligned on the host; null where only shapes are asked about. Of a tensor without elements nothing may be read or written. */
  void* data;
  /* Outputs with OCTET_PORT_DATA_SIZED: bit i is set by the shape rule where dims[i] is the most that dimension i may be. `run` gets such
   * dims, memory for all of them, and writes what they are; elements are dense for these. On OCTET_DEVICE_CUDA the work in the stream
   * writes them, into `told_dims`. */
  uint64_t open_dims;
  /* Of such outputs on OCTET_DEVICE_CUDA: `rank` numbers in the device's memory, which are `dims` when the work begins. Else null. */
  int64_t* told_dims;
} octet_plugin_tensor;

struct octet_plugin_operator;
struct octet_plugin_combination;

/* One question about, or one run of, a node. */
typedef struct octet_plugin_call {
  uint64_t size;
  const struct octet_plugin_operator* op;
  const struct octet_plugin_combination* combination; /* null in the shape rule */
  void* instance;
  uint64_t input_count;
  uint64_t output_count;
  const octet_plugin_tensor* inputs;
  octet_plugin_tensor* outputs;
  void* workspace; /* 64-byte aligned, in the device's memory; arbitrary bytes; null: none */
  uint64_t workspace_bytes;
  void* stream; /* OCTET_DEVICE_CUDA: the cudaStream_t; else null */
  int32_t device_index;
  int32_t threads; /* that `parallel` spreads over */
  /* Cuts 0..count into pieces and calls `piece` for each, on the run's threads; returns when all are done. Null: there are none. */
  void (*parallel)(void* host, int64_t count, void (*piece)(void* user, int64_t begin, int64_t end),
                   void* user);
  void* host;
  char* message; /* for a status other than OK: text with a final zero */
  uint64_t message_capacity;
} octet_plugin_call;

/* A combination of formats that the operator can run. Which one is taken is the planner's affair. */
typedef struct octet_plugin_combination {
  uint64_t size;
  const char* name;
  uint32_t device; /* OCTET_DEVICE_... */
  uint32_t reserved;
  const octet_plugin_format* inputs;  /* one for each declared input */
  const octet_plugin_format* outputs; /* one for each declared output */
  int32_t (*run)(octet_plugin_call* call);
  int64_t (*workspace)(octet_plugin_call* call); /* bytes; null: none */
  double (*cost)(octet_plugin_call* call); /* cycles of one core; null: by the bytes touched */
} octet_plugin_combination;

/* What an instance is made from: a node's attributes, and what `serialize` wrote when the engine was built. */
typedef struct octet_plugin_creation {
  uint64_t size;
  const struct octet_plugin_operator* op;
  uint64_t attribute_count; /* all that are declared, in that order, defaults filled in */
  const octet_plugin_value* attributes;
  const void* state; /* null while an engine is built */
  uint64_t state_bytes;
  void* instance; /* to be set */
  char* message;
  uint64_t message_capacity;
} octet_plugin_creation;

/* An example for `octet plugin check`: attributes (others have their defaults) and input shapes that fit together. A variadic output has
 * as many results as the shape rule first accepts. */
typedef struct octet_plugin_case {
  uint64_t size;
  uint64_t attribute_count;
  const octet_plugin_value* attributes;
  uint64_t input_count;
  const int32_t* ranks;
  const int64_t* dims; /* of all inputs, one after another */
} octet_plugin_case;

/* Flags of operators. */
enum {
  OCTET_OPERATOR_CONCURRENT = 1, /* calls of one instance may run at the same time */
  /* Elements are moved and none is computed: on codes it does the same as on reals, and the outputs have the parameters of the inputs.
   * Q and DQ then move through it. */
  OCTET_OPERATOR_COMMUTES = 2,
  /* In a model with Q/DQ of its own, DQ -> operator -> Q may become one node on codes. Without it Q/DQ stay where the model has them. */
  OCTET_OPERATOR_QUANTIZABLE = 4
};

typedef struct octet_plugin_operator {
  uint64_t size;
  const char* name;   /* as in ONNX files */
  const char* domain; /* its own: neither "" nor "ai.onnx" nor "octet" */
  uint32_t version;
  uint32_t flags;
  uint64_t attribute_count;
  const octet_plugin_attribute* attributes;
  uint64_t input_count;
  const octet_plugin_port* inputs;
  uint64_t output_count;
  const octet_plugin_port* outputs;
  uint64_t combination_count;
  const octet_plugin_combination* combinations;
  uint64_t case_count;
  const octet_plugin_case* cases;
  /* Sets rank and dims of the outputs. Types of inputs are set; data only of constants. */
  int32_t (*infer)(octet_plugin_call* call);
  /* Both null: `instance` is null in every call. */
  int32_t (*create)(octet_plugin_creation* creation);
  void (*destroy)(const struct octet_plugin_operator* op, void* instance);
  /* Writes at most `capacity` bytes; returns how many it has, or a negative number. Null: no state. */
  int64_t (*serialize)(const struct octet_plugin_operator* op, const void* instance, void* buffer,
                       uint64_t capacity);
  void* user; /* the plugin's own */
} octet_plugin_operator;

/* What the host offers. It only grows. */
typedef struct octet_plugin_host {
  uint64_t size;
  uint32_t abi;
  uint32_t reserved;
  const char* version; /* of Octet */
} octet_plugin_host;

typedef struct octet_plugin {
  uint64_t size;
  uint32_t abi; /* OCTET_PLUGIN_ABI */
  uint32_t reserved;
  const char* name;
  const char* version;
  uint64_t operator_count;
  const octet_plugin_operator* const* operators;
} octet_plugin;

/* The one symbol of a plugin, called once. Null: the plugin cannot live with this host. */
typedef const octet_plugin* (*octet_plugin_entry_function)(const octet_plugin_host* host);
#define OCTET_PLUGIN_ENTRY "octet_plugin_entry"
OCTET_PLUGIN_EXPORT const octet_plugin* octet_plugin_entry(const octet_plugin_host* host);

#ifdef __cplusplus
}
#endif
#endif
