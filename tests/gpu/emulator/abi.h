// SPDX-License-Identifier: Apache-2.0
// What a kernel that was compiled for the host and the emulated driver know of each other. Both include this file, and kernels have
// no headers: it uses nothing.
#pragma once

struct EmulatedDim {
  unsigned x, y, z;
};

// One lane's part of mma.sync.m16n8k32, or of m8n8k16 (a and b of one word, d of two): what it holds of the four matrices (d is read and written).
struct EmulatedMma {
  bool a_signed;
  int* d;
  const unsigned* a;
  const unsigned* b;
};

// One lane's part of mma.m16n8k16 for 16-bit floats with sums in f32, or of m16n8k8 (a of two words, b of one).
struct EmulatedMmaFloat {
  bool f16;  // else bf16
  float* d;
  const unsigned* a;
  const unsigned* b;
};

// One lane's part of ldmatrix.x4: the row that it names, and where its words go; whether each matrix is turned (.trans).
struct EmulatedLdmatrix {
  const void* row;
  unsigned* d;
  bool turned;
};

// What the emulated driver makes of CUtensorMap: sizes, strides and boxes begin with the innermost dimension; those that a tensor has not
// are 1. Windows (im2col): their corners, counted from the first and from the last pixel, steps, and pixels of one copy.
struct EmulatedTensorMap {
  unsigned char* base;
  unsigned sizes[4], strides[3], box[4];
  int lower[2], upper[2];
  unsigned pixels, steps[2];
};

// Does for all lanes what they came together for; lanes[i] is null where `present` lacks the lane.
using EmulatedWork = void (*)(void** lanes, unsigned present);

// Does what a thread gave away: a copy, a product.
using EmulatedLater = void (*)(const void* what);

// Where it waits: what a thread gives for itself, and what all wait for at a barrier of shared memory (its address is added).
enum EmulatedQueue : unsigned { kEmulatedCopies, kEmulatedProducts, kEmulatedLoads };

// What the driver does for a kernel.
struct EmulatedServices {
  void (*barrier)();  // of the block
  // Waits until every lane of `mask` that still runs is here, then `work` is done once.
  void (*exchange)(unsigned mask, EmulatedWork work, void* mine);
  void (*trap)(const char* why);
  EmulatedWork mma, mma_m8n8k16, ldmatrix, mma_float, mma_f16_m16n8k8;
  void (*yield)();     // another thread goes on; this one waits for what `progress` tells of
  void (*progress)();  // something has come that threads may wait for
  void (*named)(unsigned id, unsigned threads,
                bool waits);  // a barrier of some threads of the block
  // The bytes of `what` are kept; `work` is done with them when `come` asks for their group.
  void (*later)(unsigned queue, EmulatedLater work, const void* what, unsigned bytes);
  void (*end_group)(unsigned queue);
  void (*come)(unsigned queue, unsigned left);  // all groups but the last ones
  void (*wait_for_predecessor)();               // the kernel that was launched before this one
  // `sum` and 16 products of numbers of f16 (else bf16), as a warpgroup's multiplier rounds them.
  float (*sum_of_16)(bool f16, float sum, const unsigned short* a, const unsigned short* b);
};

// What the running thread sees; the driver changes it.
struct EmulatedState {
  EmulatedDim thread, block, block_dim, grid_dim;
  unsigned lane;
  unsigned char* shared;  // dynamic shared memory of the block
  // The same as copies brought it and threads published it (fence.proxy.async).
  unsigned char* published;
  unsigned shared_bytes;
  const EmulatedServices* services;
};

// A kernel: exported as emulated_kernel_NAME.
struct EmulatedKernel {
  int max_threads;  // of a block, from __launch_bounds__
  int parameters;
  const unsigned* sizes;        // of the parameters
  void (*thread)(void**);       // runs the thread that the state names
  void (*whole_block)(void**);  // runs all threads one after another
};

// Of a compiled source: exported as emulated_module.
struct EmulatedModule {
  EmulatedState* state;
  unsigned char *static_begin, *static_end;  // static shared memory
  bool cooperates;                           // threads wait for each other somewhere
};
