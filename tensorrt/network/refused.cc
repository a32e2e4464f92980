// SPDX-License-Identifier: Apache-2.0
// Layers that networks do not make: null, and the reason in the log and the error recorder.
#include "tensorrt/network/network.h"

namespace octet_trt {
namespace {

template <class Layer>
Layer* refused(const Reporter& reporter, const char* function, const char* why) {
  reporter.error(ErrorCode::kUNSUPPORTED_STATE,
                 std::string("INetworkDefinition::") + function + ": " + why);
  return nullptr;
}

}  // namespace

IRaggedSoftMaxLayer* Network::addRaggedSoftMax(ITensor&, ITensor&) noexcept {
  return refused<IRaggedSoftMaxLayer>(reporter, "addRaggedSoftMax",
                                      "no operator does this; mask the input and use addSoftMax()");
}

#if NV_TENSORRT_MAJOR >= 10
IKVCacheUpdateLayer* Network::addKVCacheUpdate(ITensor&, ITensor&, ITensor&, KVCacheMode) noexcept {
  return refused<IKVCacheUpdateLayer>(
      reporter, "addKVCacheUpdate",
      "no output is written over its input; give the cache as an input and its longer form as an "
      "output, by addConcatenation() or addScatter()");
}

namespace {

constexpr const char* kNoDynamicScales =
    "no scale is computed while a network runs; quantize by addQuantize(), whose scale is a "
    "constant";

}  // namespace

IDynamicQuantizeLayer* Network::addDynamicQuantize(ITensor&, int32_t, int32_t, DataType,
                                                   DataType) noexcept {
  return refused<IDynamicQuantizeLayer>(reporter, "addDynamicQuantize", kNoDynamicScales);
}

IDynamicQuantizeLayer* Network::addDynamicQuantizeV2(ITensor&, Dims const&, DataType,
                                                     DataType) noexcept {
  return refused<IDynamicQuantizeLayer>(reporter, "addDynamicQuantizeV2", kNoDynamicScales);
}

IMoELayer* Network::addMoE(ITensor&, ITensor&, ITensor&) noexcept {
  return refused<IMoELayer>(reporter, "addMoE",
                            "experts are made of their parts; use addMatrixMultiply(), "
                            "addActivation() and addGather()");
}

IDistCollectiveLayer* Network::addDistCollective(ITensor&, CollectiveOperation, ReduceOperation,
                                                 int64_t, int64_t*, int64_t) noexcept {
  return refused<IDistCollectiveLayer>(reporter, "addDistCollective",
                                       "an engine runs in one process; exchange tensors between "
                                       "engines");
}
#else
IRNNv2Layer* Network::addRNNv2(ITensor&, int32_t, int32_t, int32_t, RNNOperation) noexcept {
  return refused<IRNNv2Layer>(reporter, "addRNNv2",
                              "recurrent layers are not made here; parse a model with an LSTM, GRU "
                              "or RNN node, which the parser takes");
}
#endif

}  // namespace octet_trt
