// SPDX-License-Identifier: Apache-2.0
// What clients derive from: logger, error recorder, profiler, allocators, streams of bytes, progress. Functions that clients override are not
// declared noexcept, so that overriders may be so or not.
#pragma once

#include "trt_base.h"

namespace nvinfer1 {

class ILogger {
 public:
  enum class Severity : int32_t {
    kINTERNAL_ERROR = 0,
    kERROR = 1,
    kWARNING = 2,
    kINFO = 3,
    kVERBOSE = 4,
  };
  virtual void log(Severity severity, AsciiChar const* msg) TRTNOEXCEPT = 0;
  ILogger() = default;
  virtual ~ILogger() = default;

 protected:
  ILogger(ILogger const&) = default;
  ILogger(ILogger&&) = default;
  ILogger& operator=(ILogger const&) & = default;
  ILogger& operator=(ILogger&&) & = default;
};
OCTET_TRT_ENUM_MAX(ILogger::Severity, 5)

class ILoggerFinder {
 public:
  virtual ILogger* findLogger() = 0;

 protected:
  virtual ~ILoggerFinder() = default;
};

OCTET_TRT_V1_BEGIN

class IErrorRecorder : public IVersionedInterface {
 public:
  using ErrorDesc = char const*;
  static constexpr size_t kMAX_DESC_LENGTH{127U};
  using RefCount = int32_t;
  IErrorRecorder() = default;
  virtual ~IErrorRecorder() noexcept = default;
  virtual int32_t getNbErrors() const TRTNOEXCEPT = 0;
  virtual ErrorCode getErrorCode(int32_t errorIdx) const TRTNOEXCEPT = 0;
  virtual ErrorDesc getErrorDesc(int32_t errorIdx) const TRTNOEXCEPT = 0;
  virtual bool hasOverflowed() const TRTNOEXCEPT = 0;
  virtual void clear() TRTNOEXCEPT = 0;
  virtual bool reportError(ErrorCode val, ErrorDesc desc) TRTNOEXCEPT = 0;
  virtual RefCount incRefCount() TRTNOEXCEPT = 0;
  virtual RefCount decRefCount() TRTNOEXCEPT = 0;
};

class IProfiler {
 public:
  virtual void reportLayerTime(char const* layerName, float ms) TRTNOEXCEPT = 0;
  virtual ~IProfiler() = default;
};

OCTET_TRT_V1_END

using AllocatorFlags = uint32_t;
enum class AllocatorFlag : int32_t { kRESIZABLE = 0 };
OCTET_TRT_ENUM_MAX(AllocatorFlag, 1)

OCTET_TRT_V1_BEGIN

class IGpuAllocator : public IVersionedInterface {
 public:
  virtual ~IGpuAllocator() = default;
  IGpuAllocator() = default;
  virtual void* allocate(uint64_t const size, uint64_t const alignment,
                         AllocatorFlags const flags) TRTNOEXCEPT = 0;
  virtual void* reallocate(void* const, uint64_t, uint64_t) TRTNOEXCEPT { return nullptr; }
#if NV_TENSORRT_MAJOR >= 10
  virtual bool deallocate(void* const memory) TRTNOEXCEPT = 0;
  virtual void* allocateAsync(uint64_t const size, uint64_t const alignment,
                              AllocatorFlags const flags, cudaStream_t) TRTNOEXCEPT {
    return allocate(size, alignment, flags);
  }
  virtual bool deallocateAsync(void* const memory, cudaStream_t) TRTNOEXCEPT {
    return deallocate(memory);
  }
#else
  virtual void free(void* const memory) TRTNOEXCEPT = 0;
  virtual bool deallocate(void* const memory) TRTNOEXCEPT {
    this->free(memory);
    return true;
  }
#endif
};
#if NV_TENSORRT_MAJOR >= 10
class IGpuAsyncAllocator : public IGpuAllocator {
 public:
  void* allocate(uint64_t const size, uint64_t const alignment,
                 AllocatorFlags const flags) TRTNOEXCEPT override {
    return allocateAsync(size, alignment, flags, nullptr);
  }
  bool deallocate(void* const memory) TRTNOEXCEPT override {
    return deallocateAsync(memory, nullptr);
  }
};
#endif

class IOutputAllocator : public IVersionedInterface {
 public:
#if NV_TENSORRT_MAJOR >= 10
  virtual void* reallocateOutput(char const*, void*, uint64_t, uint64_t) TRTNOEXCEPT {
    return nullptr;
  }
  virtual void* reallocateOutputAsync(char const* tensorName, void* currentMemory, uint64_t size,
                                      uint64_t alignment, cudaStream_t) TRTNOEXCEPT {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }
#else
  virtual int32_t getInterfaceVersion() const noexcept { return 1; }
  virtual void* reallocateOutput(char const* tensorName, void* currentMemory, uint64_t size,
                                 uint64_t alignment) TRTNOEXCEPT = 0;
#endif
  virtual void notifyShape(char const* tensorName, Dims const& dims) TRTNOEXCEPT = 0;
  virtual ~IOutputAllocator() = default;
};

class IProgressMonitor : public IVersionedInterface {
 public:
  IProgressMonitor() = default;
  virtual ~IProgressMonitor() noexcept = default;
  virtual void phaseStart(char const* phaseName, char const* parentPhase,
                          int32_t nbSteps) TRTNOEXCEPT = 0;
  virtual bool stepComplete(char const* phaseName, int32_t step) TRTNOEXCEPT = 0;
  virtual void phaseFinish(char const* phaseName) TRTNOEXCEPT = 0;
};

class IDebugListener : public IVersionedInterface {
 public:
  virtual bool processDebugTensor(void const* addr, TensorLocation location, DataType type,
                                  Dims const& shape, char const* name,
                                  cudaStream_t stream) TRTNOEXCEPT = 0;
  virtual ~IDebugListener() = default;
};

OCTET_TRT_V1_END

enum class SeekPosition : int32_t { kSET = 0, kCUR = 1, kEND = 2 };
OCTET_TRT_ENUM_MAX(SeekPosition, 3)

OCTET_TRT_V1_BEGIN

class IStreamReader : public IVersionedInterface {
 public:
  virtual ~IStreamReader() = default;
  IStreamReader() = default;
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;
};
class IStreamReaderV2 : public IVersionedInterface {
 public:
  virtual ~IStreamReaderV2() = default;
  IStreamReaderV2() = default;
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) TRTNOEXCEPT = 0;
  virtual bool seek(int64_t offset, SeekPosition where) TRTNOEXCEPT = 0;
};
class IStreamWriter : public IVersionedInterface {
 public:
  virtual ~IStreamWriter() = default;
  IStreamWriter() = default;
  virtual int64_t write(void const* data, int64_t nbBytes) = 0;
};

OCTET_TRT_V1_END

enum class CalibrationAlgoType : int32_t {
  kLEGACY_CALIBRATION = 0,
  kENTROPY_CALIBRATION = 1,
  kENTROPY_CALIBRATION_2 = 2,
  kMINMAX_CALIBRATION = 3,
};
OCTET_TRT_ENUM_MAX(CalibrationAlgoType, 4)

class IInt8Calibrator : public IVersionedInterface {
 public:
  virtual int32_t getBatchSize() const TRTNOEXCEPT = 0;
  virtual bool getBatch(void* bindings[], char const* names[], int32_t nbBindings) TRTNOEXCEPT = 0;
  virtual void const* readCalibrationCache(std::size_t& length) TRTNOEXCEPT = 0;
  virtual void writeCalibrationCache(void const* ptr, std::size_t length) TRTNOEXCEPT = 0;
  virtual CalibrationAlgoType getAlgorithm() TRTNOEXCEPT = 0;
  ~IInt8Calibrator() noexcept override = default;
};

OCTET_TRT_V1_BEGIN

class IInt8EntropyCalibrator : public IInt8Calibrator {
 public:
  CalibrationAlgoType getAlgorithm() TRTNOEXCEPT override {
    return CalibrationAlgoType::kENTROPY_CALIBRATION;
  }
};
class IInt8EntropyCalibrator2 : public IInt8Calibrator {
 public:
  CalibrationAlgoType getAlgorithm() TRTNOEXCEPT override {
    return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  }
};
class IInt8MinMaxCalibrator : public IInt8Calibrator {
 public:
  CalibrationAlgoType getAlgorithm() TRTNOEXCEPT override {
    return CalibrationAlgoType::kMINMAX_CALIBRATION;
  }
};
class IInt8LegacyCalibrator : public IInt8Calibrator {
 public:
  CalibrationAlgoType getAlgorithm() TRTNOEXCEPT override {
    return CalibrationAlgoType::kLEGACY_CALIBRATION;
  }
  virtual double getQuantile() const TRTNOEXCEPT = 0;
  virtual double getRegressionCutoff() const TRTNOEXCEPT = 0;
  virtual void const* readHistogramCache(std::size_t& length) TRTNOEXCEPT = 0;
  virtual void writeHistogramCache(void const* ptr, std::size_t length) TRTNOEXCEPT = 0;
};

OCTET_TRT_V1_END

}  // namespace nvinfer1
