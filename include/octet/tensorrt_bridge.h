/* SPDX-License-Identifier: Apache-2.0
 *
 * Plugins of TensorRT as operators of Octet (octet/plugin.h), for a program that links no library of TensorRT's interface: it opens libnvinfer
 * of tensorrt/, and gets these functions by the name OCTET_TRT_BRIDGE. No exception and no type of C++ crosses; octet trtexec calls them.
 */
#ifndef OCTET_TENSORRT_BRIDGE_H
#define OCTET_TENSORRT_BRIDGE_H

#include <stdint.h>

#include "octet/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OCTET_TRT_BRIDGE "octetTrtBridge"

/* Where a function writes why it failed. */
typedef struct octet_trt_message {
  char* text;
  uint64_t capacity;
} octet_trt_message;

typedef struct octet_trt_opened octet_trt_opened;

typedef struct octet_trt_bridge {
  uint64_t size; /* of this struct, as its maker knows it */
  /* Registers the creators of a library of plugins. 0: they are there. */
  int32_t (*load_library)(const char* path, octet_trt_message* message);
  /* An ONNX model whose nodes may be plugins, and the bytes that are attached to a plan whose layers may be. Null: it failed. */
  octet_trt_opened* (*open_model)(const void* onnx, uint64_t bytes, const char* weights_folder,
                                  octet_trt_message* message);
  octet_trt_opened* (*open_plan)(const void* attached, uint64_t bytes, octet_trt_message* message);
  /* Of what was opened, as long as it is: the model with operators in place of its plugins; what a plan keeps of them, a list as JSON and
     their states; the operators, null behind the last. */
  const void* (*model)(const octet_trt_opened* opened, uint64_t* bytes);
  const char* (*plugins)(const octet_trt_opened* opened);
  const void* (*states)(const octet_trt_opened* opened, uint64_t* bytes);
  const octet_plugin* (*operators)(const octet_trt_opened* opened, uint64_t index);
  /* The plugins end with it. */
  void (*close)(octet_trt_opened* opened);
} octet_trt_bridge;

typedef const octet_trt_bridge* (*octet_trt_bridge_function)(void);

#ifdef __cplusplus
}
#endif

#endif
