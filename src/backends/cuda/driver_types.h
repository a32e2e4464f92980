// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's C interface that Octet calls: types and values as the driver's documentation gives them. The library
// is opened at run time (driver.h), so nothing of a toolkit is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

struct CUuuid {
  unsigned char bytes[16];
};

struct alignas(64) CUtensorMap {
  std::uint64_t opaque[16];
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned int cluster[3];
    int flag;
  } value;
};

struct CUlaunchConfig {
  unsigned int gridDimX, gridDimY, gridDimZ;
  unsigned int blockDimX, blockDimY, blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};

using nvrtcProgram = struct _nvrtcProgram*;
using nvrtcResult = int;

}  // extern "C"

namespace octet::cuda {

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kNoDevice = 100;
inline constexpr CUresult kInvalidImage = 200;
inline constexpr CUresult kInvalidContext = 201;
inline constexpr CUresult kNoBinary = 209;
// PTX of a newer compiler than the driver knows.
inline constexpr CUresult kUnsupportedPtx = 222;
inline constexpr CUresult kInvalidHandle = 400;

// CUdevice_attribute.
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kClockKilohertz = 13,
  kMultiprocessors = 16,
  kHasEcc = 32,
  kMemoryClockKilohertz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kThreadsOfMultiprocessor = 39,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedBytesOfMultiprocessor = 81,
  kRegistersOfMultiprocessor = 82,
  kSharedBytesPerBlock = 97,
  kReservedSharedBytes = 111,
};

// CUfunction_attribute.
enum FunctionAttribute : int {
  kStaticSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicSharedBytes = 8,
};

// CUpointer_attribute, and a value of CUmemorytype.
enum PointerAttribute : int {
  kPointerMemoryType = 2,
  kPointerIsManaged = 8,
  kPointerDevice = 9,
};
inline constexpr unsigned kMemoryOfDevice = 2;

inline constexpr int kLaunchCluster = 4;                // CUlaunchAttributeID
inline constexpr int kLaunchProgrammaticDependent = 6;  // programmatic stream serialization
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventWithTime = 0;
inline constexpr unsigned kEventWithoutTime = 2;
inline constexpr int kCaptureThreadLocal = 1;

// CUtensorMapDataType, ...Interleave, ...Swizzle, ...L2promotion, ...FloatOOBfill.
inline constexpr int kTensorMapBytes = 0;
inline constexpr int kNoInterleave = 0;
inline constexpr int kL2Promotion256 = 3;
inline constexpr int kNoFill = 0;

}  // namespace octet::cuda
