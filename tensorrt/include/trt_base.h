// SPDX-License-Identifier: Apache-2.0
// Values that cross the interface: sizes, element types, weights, flags. One text for both levels; NV_TENSORRT_MAJOR tells which. Compiles
// as C++11, and what clients initialize with braces is an aggregate: no constructors, no initializers of members.
#pragma once

#include <cstddef>
#include <cstdint>

#include "NvInferVersion.h"
#include "cuda_runtime_api.h"

#define TENSORRTAPI
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#if NV_TENSORRT_MAJOR >= 10
#define NV_TENSORRT_VERSION \
  NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)
#else
#define NV_TENSORRT_VERSION \
  ((NV_TENSORRT_MAJOR)*1000 + (NV_TENSORRT_MINOR)*100 + (NV_TENSORRT_PATCH))
#endif
#if __cplusplus >= 201402L
#define TRT_DEPRECATED [[deprecated]]
#else
#define TRT_DEPRECATED
#endif
#define TRT_DEPRECATED_ENUM
#define TRT_DEPRECATED_API
// Virtual functions that clients override: both those who write noexcept and those who do not may do so.
#define TRTNOEXCEPT

// TensorRT 10 keeps what clients derive from in a namespace of its version, which is part of their names in binaries.
#if NV_TENSORRT_MAJOR >= 10
#define OCTET_TRT_V1_BEGIN inline namespace v_1_0 {
#define OCTET_TRT_V1_END }
#else
#define OCTET_TRT_V1_BEGIN
#define OCTET_TRT_V1_END
#endif

struct cudnnContext;
struct cublasContext;

namespace nvinfer1 {

using char_t = char;
using AsciiChar = char_t;
using cudnnContext = ::cudnnContext;
using cublasContext = ::cublasContext;

OCTET_TRT_V1_BEGIN
class IErrorRecorder;
class IGpuAllocator;
OCTET_TRT_V1_END
class ILogger;
class IPluginRegistry;

// How many values an enumeration has; specialized beside each.
template <typename T>
constexpr int32_t EnumMax() noexcept;

#define OCTET_TRT_ENUM_MAX(Enum, count)        \
  template <>                                  \
  constexpr int32_t EnumMax<Enum>() noexcept { \
    return count;                              \
  }

enum class DataType : int32_t {
  kFLOAT = 0,
  kHALF = 1,
  kINT8 = 2,
  kINT32 = 3,
  kBOOL = 4,
  kUINT8 = 5,
  kFP8 = 6,
#if NV_TENSORRT_MAJOR >= 10
  kBF16 = 7,
  kINT64 = 8,
  kINT4 = 9,
  kFP4 = 10,
  kE8M0 = 11,
#endif
};
#if NV_TENSORRT_MAJOR >= 10
OCTET_TRT_ENUM_MAX(DataType, 12)
#else
OCTET_TRT_ENUM_MAX(DataType, 7)
#endif

class Dims32 {
 public:
  static constexpr int32_t MAX_DIMS{8};
  int32_t nbDims;
  int32_t d[MAX_DIMS];
};

class Dims64 {
 public:
  static constexpr int32_t MAX_DIMS{8};
  int32_t nbDims;
  int64_t d[MAX_DIMS];
};

#if NV_TENSORRT_MAJOR >= 10
using Dims = Dims64;
using OctetSize = int64_t;
#else
using Dims = Dims32;
using OctetSize = int32_t;
#endif

class Dims2 : public Dims {
 public:
  Dims2() : Dims2(0, 0) {}
  Dims2(OctetSize d0, OctetSize d1) {
    this->nbDims = 2;
    this->d[0] = d0;
    this->d[1] = d1;
    for (int64_t i = 2; i < Dims::MAX_DIMS; ++i) this->d[i] = 0;
  }
};

class DimsHW : public Dims2 {
 public:
  DimsHW() : Dims2() {}
  DimsHW(OctetSize height, OctetSize width) : Dims2(height, width) {}
  OctetSize& h() { return this->d[0]; }
  OctetSize h() const { return this->d[0]; }
  OctetSize& w() { return this->d[1]; }
  OctetSize w() const { return this->d[1]; }
};

class Dims3 : public Dims2 {
 public:
  Dims3() : Dims3(0, 0, 0) {}
  Dims3(OctetSize d0, OctetSize d1, OctetSize d2) : Dims2(d0, d1) {
    this->nbDims = 3;
    this->d[2] = d2;
  }
};

class Dims4 : public Dims3 {
 public:
  Dims4() : Dims4(0, 0, 0, 0) {}
  Dims4(OctetSize d0, OctetSize d1, OctetSize d2, OctetSize d3) : Dims3(d0, d1, d2) {
    this->nbDims = 4;
    this->d[3] = d3;
  }
};

class Weights {
 public:
  DataType type;
  void const* values;
  int64_t count;
};

struct Permutation {
  int32_t order[Dims::MAX_DIMS];
};

enum class TensorFormat : int32_t {
  kLINEAR = 0,
  kCHW2 = 1,
  kHWC8 = 2,
  kCHW4 = 3,
  kCHW16 = 4,
  kCHW32 = 5,
  kDHWC8 = 6,
  kCDHW32 = 7,
  kHWC = 8,
  kDLA_LINEAR = 9,
  kDLA_HWC4 = 10,
  kHWC16 = 11,
  kDHWC = 12,
};
OCTET_TRT_ENUM_MAX(TensorFormat, 13)
using PluginFormat = TensorFormat;
using TensorFormats = uint32_t;

enum class ErrorCode : int32_t {
  kSUCCESS = 0,
  kUNSPECIFIED_ERROR = 1,
  kINTERNAL_ERROR = 2,
  kINVALID_ARGUMENT = 3,
  kINVALID_CONFIG = 4,
  kFAILED_ALLOCATION = 5,
  kFAILED_INITIALIZATION = 6,
  kFAILED_EXECUTION = 7,
  kFAILED_COMPUTATION = 8,
  kINVALID_STATE = 9,
  kUNSUPPORTED_STATE = 10,
};
OCTET_TRT_ENUM_MAX(ErrorCode, 11)

enum class TensorLocation : int32_t { kDEVICE = 0, kHOST = 1 };
OCTET_TRT_ENUM_MAX(TensorLocation, 2)

enum class TensorIOMode : int32_t { kNONE = 0, kINPUT = 1, kOUTPUT = 2 };
OCTET_TRT_ENUM_MAX(TensorIOMode, 3)

enum class DeviceType : int32_t { kGPU = 0, kDLA = 1 };
OCTET_TRT_ENUM_MAX(DeviceType, 2)

enum class OptProfileSelector : int32_t { kMIN = 0, kOPT = 1, kMAX = 2 };
OCTET_TRT_ENUM_MAX(OptProfileSelector, 3)

enum class ProfilingVerbosity : int32_t {
  kLAYER_NAMES_ONLY = 0,
  kNONE = 1,
  kDETAILED = 2,
#if NV_TENSORRT_MAJOR < 10
  kDEFAULT = kLAYER_NAMES_ONLY,
  kVERBOSE = kDETAILED,
#endif
};
OCTET_TRT_ENUM_MAX(ProfilingVerbosity, 3)

enum class LayerInformationFormat : int32_t { kONELINE = 0, kJSON = 1 };
OCTET_TRT_ENUM_MAX(LayerInformationFormat, 2)

enum class EngineCapability : int32_t {
  kSTANDARD = 0,
  kSAFETY = 1,
  kDLA_STANDALONE = 2,
#if NV_TENSORRT_MAJOR < 10
  kDEFAULT = kSTANDARD,
  kSAFE_GPU = kSAFETY,
  kSAFE_DLA = kDLA_STANDALONE,
#endif
};
OCTET_TRT_ENUM_MAX(EngineCapability, 3)

enum class TacticSource : int32_t {
  kCUBLAS = 0,
  kCUBLAS_LT = 1,
  kCUDNN = 2,
  kEDGE_MASK_CONVOLUTIONS = 3,
  kJIT_CONVOLUTIONS = 4,
};
OCTET_TRT_ENUM_MAX(TacticSource, 5)
using TacticSources = uint32_t;

enum class TempfileControlFlag : int32_t { kALLOW_IN_MEMORY_FILES = 0, kALLOW_TEMPORARY_FILES = 1 };
OCTET_TRT_ENUM_MAX(TempfileControlFlag, 2)
using TempfileControlFlags = uint32_t;

enum class APILanguage : int32_t { kCPP = 0, kPYTHON = 1 };
OCTET_TRT_ENUM_MAX(APILanguage, 2)
using InterfaceKind = char const*;

class InterfaceInfo {
 public:
  InterfaceKind kind;
  int32_t major;
  int32_t minor;
};

// The base of all that clients derive from at level 10; at level 8 its answers are there, too, and nobody asks.
class IVersionedInterface {
 public:
  virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }
  virtual InterfaceInfo getInterfaceInfo() const noexcept { return InterfaceInfo{"NONE", 1, 0}; }
  virtual ~IVersionedInterface() noexcept = default;

 protected:
  IVersionedInterface() = default;
  IVersionedInterface(IVersionedInterface const&) = default;
  IVersionedInterface(IVersionedInterface&&) = default;
  IVersionedInterface& operator=(IVersionedInterface const&) & = default;
  IVersionedInterface& operator=(IVersionedInterface&&) & = default;
};

// What the library hands out: it is deleted by its pointer, at level 8 also by destroy().
class INoCopy {
 protected:
  INoCopy() = default;
  virtual ~INoCopy() = default;
  INoCopy(INoCopy const&) = delete;
  INoCopy& operator=(INoCopy const&) = delete;
};

#if NV_TENSORRT_MAJOR < 10
#define OCTET_TRT_DESTROY \
  void destroy() noexcept { delete this; }
#else
#define OCTET_TRT_DESTROY
#endif

// A class of what the library hands out, and its functions. At level 10 it is a handle as TensorRT 10's is, so programs that were compiled with
// TensorRT's own headers run, too: its functions are inline and call a table by place (include-10/trt_tables_*.h), where `called` may have
// another name, and nothing of its own is virtual but the destructor and two functions (..._OWN). At level 8 the functions are virtual.
#if NV_TENSORRT_MAJOR >= 10
#define OCTET_TRT_HANDLE_ON(Table, pointer) \
 public:                                    \
  using OctetTable = apiv::Table;           \
                                            \
 protected:                                 \
  apiv::Table* pointer{};
#define OCTET_TRT_CALL_TO(pointer, Result, name, called, parameters, arguments) \
  Result name parameters noexcept { return pointer->called arguments; }
#define OCTET_TRT_ASK_TO(pointer, Result, name, called, parameters, arguments) \
  Result name parameters const noexcept { return pointer->called arguments; }
#else
#define OCTET_TRT_HANDLE_ON(Table, pointer)
#define OCTET_TRT_CALL_TO(pointer, Result, name, called, parameters, arguments) \
  virtual Result name parameters noexcept = 0;
#define OCTET_TRT_ASK_TO(pointer, Result, name, called, parameters, arguments) \
  virtual Result name parameters const noexcept = 0;
#endif
#define OCTET_TRT_HANDLE(Table) OCTET_TRT_HANDLE_ON(Table, mImpl)
#define OCTET_TRT_CALL_ON(pointer, Result, name, parameters, arguments) \
  OCTET_TRT_CALL_TO(pointer, Result, name, name, parameters, arguments)
#define OCTET_TRT_ASK_ON(pointer, Result, name, parameters, arguments) \
  OCTET_TRT_ASK_TO(pointer, Result, name, name, parameters, arguments)
#define OCTET_TRT_CALL(Result, name, parameters, arguments) \
  OCTET_TRT_CALL_TO(mImpl, Result, name, name, parameters, arguments)
#define OCTET_TRT_ASK(Result, name, parameters, arguments) \
  OCTET_TRT_ASK_TO(mImpl, Result, name, name, parameters, arguments)
// Functions that are virtual in the handle at level 10 as well, as they are in all of TensorRT 10: programs call them by the handle's own
// table, where they stand behind the destructor. A class has one of them at most.
#if NV_TENSORRT_MAJOR >= 10
#define OCTET_TRT_CALL_OWN(Result, name, parameters, arguments) \
  virtual OCTET_TRT_CALL(Result, name, parameters, arguments)
#define OCTET_TRT_ASK_OWN(Result, name, parameters, arguments) \
  virtual OCTET_TRT_ASK(Result, name, parameters, arguments)
#else
#define OCTET_TRT_CALL_OWN OCTET_TRT_CALL
#define OCTET_TRT_ASK_OWN OCTET_TRT_ASK
#endif
#define OCTET_TRT_CALL_AS(Result, name, called, parameters, arguments) \
  OCTET_TRT_CALL_TO(mImpl, Result, name, called, parameters, arguments)
#define OCTET_TRT_ASK_AS(Result, name, called, parameters, arguments) \
  OCTET_TRT_ASK_TO(mImpl, Result, name, called, parameters, arguments)

}  // namespace nvinfer1
