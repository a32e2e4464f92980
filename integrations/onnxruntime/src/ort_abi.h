// SPDX-License-Identifier: Apache-2.0
// The binary interface between ONNX Runtime and a library of execution providers, as much of it as Octet uses: what the library implements
// (OrtEpFactory, OrtEp, OrtNodeComputeInfo) and what it is given. Declared here, since no package brings ONNX Runtime's own headers. The structs
// are those of version 24: a host reads no further than `ort_version_supported` says.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// What only the host knows.
struct OrtStatus;
struct OrtValue;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtKernelContext;
struct OrtOpAttr;
struct OrtLogger;
struct OrtValueInfo;
struct OrtNode;
struct OrtGraph;
struct OrtKeyValuePairs;
struct OrtHardwareDevice;
struct OrtEpDevice;
struct OrtEpGraphSupportInfo;
struct OrtDeviceEpIncompatibilityDetails;
struct OrtSessionOptions;
struct OrtNodeComputeContext;
struct OrtMemoryInfo;
struct OrtMemoryDevice;

struct OrtApiBase {
  const void* (*GetApi)(uint32_t version);  // null for a version that the host does not know
  const char* (*GetVersionString)();
};

struct OrtNodeFusionOptions {
  uint32_t ort_version_supported;
  bool drop_constant_initializers;
};

struct OrtNodeComputeInfo {
  uint32_t ort_version_supported;
  OrtStatus* (*CreateState)(OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state);
  OrtStatus* (*Compute)(OrtNodeComputeInfo*, void* state, OrtKernelContext*);
  void (*ReleaseState)(OrtNodeComputeInfo*, void* state);
};

struct OrtAllocator {
  uint32_t version;
  void* (*Alloc)(OrtAllocator*, size_t bytes);
  void (*Free)(OrtAllocator*, void* block);
  const OrtMemoryInfo* (*Info)(const OrtAllocator*);
  void* (*Reserve)(OrtAllocator*, size_t bytes);
  void* GetStats;  // these two may be null
  void* AllocOnStream;
};

struct OrtDataTransferImpl {
  uint32_t ort_version_supported;
  void (*Release)(OrtDataTransferImpl*);
  bool (*CanCopy)(const OrtDataTransferImpl*, const OrtMemoryDevice* from,
                  const OrtMemoryDevice* to);
  OrtStatus* (*CopyTensors)(OrtDataTransferImpl*, const OrtValue** from, OrtValue** to,
                            void** streams, size_t count);
};

struct OrtEp {
  uint32_t ort_version_supported;
  const char* (*GetName)(const OrtEp*);
  OrtStatus* (*GetCapability)(OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*);
  OrtStatus* (*Compile)(OrtEp*, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                        OrtNodeComputeInfo** infos, OrtNode** ep_context_nodes);
  void (*ReleaseNodeComputeInfos)(OrtEp*, OrtNodeComputeInfo** infos, size_t count);
  void* GetPreferredDataLayout;
  void* ShouldConvertDataLayoutForOp;
  void* SetDynamicOptions;
  void* OnRunStart;
  void* OnRunEnd;
  void* CreateAllocator;
  void* CreateSyncStreamForDevice;
  const char* (*GetCompiledModelCompatibilityInfo)(OrtEp*, const OrtGraph*);
  void* GetKernelRegistry;  // from here on of version 24
  OrtStatus* (*IsConcurrentRunSupported)(OrtEp*, bool* out);
};

struct OrtEpFactory {
  uint32_t ort_version_supported;
  const char* (*GetName)(const OrtEpFactory*);
  const char* (*GetVendor)(const OrtEpFactory*);
  OrtStatus* (*GetSupportedDevices)(OrtEpFactory*, const OrtHardwareDevice* const* devices,
                                    size_t count, OrtEpDevice** ep_devices, size_t most,
                                    size_t* ep_count);
  OrtStatus* (*CreateEp)(OrtEpFactory*, const OrtHardwareDevice* const* devices,
                         const OrtKeyValuePairs* const* metadata, size_t count,
                         const OrtSessionOptions*, const OrtLogger*, OrtEp** ep);
  void (*ReleaseEp)(OrtEpFactory*, OrtEp*);
  uint32_t (*GetVendorId)(const OrtEpFactory*);
  const char* (*GetVersion)(const OrtEpFactory*);
  OrtStatus* (*ValidateCompiledModelCompatibilityInfo)(OrtEpFactory*,
                                                       const OrtHardwareDevice* const* devices,
                                                       size_t count, const char* info,
                                                       int* compatibility);
  OrtStatus* (*CreateAllocator)(OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                                OrtAllocator**);
  void (*ReleaseAllocator)(OrtEpFactory*, OrtAllocator*);
  OrtStatus* (*CreateDataTransfer)(OrtEpFactory*, OrtDataTransferImpl** out);
  bool (*IsStreamAware)(const OrtEpFactory*);
  void* CreateSyncStreamForDevice;
  // From here on of version 24.
  OrtStatus* (*GetHardwareDeviceIncompatibilityDetails)(OrtEpFactory*, const OrtHardwareDevice*,
                                                        OrtDeviceEpIncompatibilityDetails*);
  OrtStatus* (*CreateExternalResourceImporterForDevice)(OrtEpFactory*, const OrtEpDevice*,
                                                        void** out);
  OrtStatus* (*GetNumCustomOpDomains)(OrtEpFactory*, size_t* out);
  void* GetCustomOpDomains;
};

static_assert(sizeof(OrtNodeFusionOptions) == 8 && sizeof(OrtNodeComputeInfo) == 32);
static_assert(sizeof(OrtAllocator) == 56 && sizeof(OrtDataTransferImpl) == 32);
static_assert(sizeof(OrtEp) == 120 && offsetof(OrtEp, IsConcurrentRunSupported) == 112);
static_assert(sizeof(OrtEpFactory) == 144 && offsetof(OrtEpFactory, CreateAllocator) == 72);

// What the library exports.
__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char* registered_name,
                                                                    const OrtApiBase* base,
                                                                    const OrtLogger* logger,
                                                                    OrtEpFactory** factories,
                                                                    size_t most, size_t* count);
__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory);

}  // extern "C"

namespace octet_ort {

// OrtErrorCode.
enum ErrorCode : int {
  kFail = 1,
  kInvalidArgument = 2,
  kRuntimeException = 6,
  kInvalidProtobuf = 7,
  kNotImplemented = 9,
  kInvalidGraph = 10,
  kEpFail = 11,
};
enum Severity : int { kVerbose = 0, kInfo = 1, kWarning = 2, kError = 3 };
// OrtOpAttrType.
enum AttributeKind : int {
  kAttrInt = 1,
  kAttrInts,
  kAttrFloat,
  kAttrFloats,
  kAttrString,
  kAttrStrings,
  kAttrGraph,
  kAttrTensor,
};
// OrtHardwareDeviceType.
enum Hardware : int { kHardwareCpu = 0, kHardwareGpu = 1 };
// OrtMemoryInfoDeviceType.
enum MemoryOf : int { kMemoryOfHost = 0, kMemoryOfGpu = 1 };
// OrtDeviceMemoryType, OrtAllocatorType.
inline constexpr int kDefaultMemory = 0, kDeviceAllocator = 0;
// PCI's number of the vendor.
inline constexpr uint32_t kNvidia = 0x10de;
// OrtCompiledModelCompatibility.
enum Compatibility : int {
  kNotApplicable = 0,
  kOptimal = 1,
  kPreferRecompilation = 2,
  kUnsupported = 3
};
// OrtDeviceEpIncompatibilityReason.
enum Incompatible : uint32_t {
  kDriverIncompatible = 1,
  kDeviceIncompatible = 2,
  kMissingDependency = 4
};

}  // namespace octet_ort
