// SPDX-License-Identifier: Apache-2.0
// The C functions of libnvonnxparser.
#include "NvOnnxParser.h"

extern "C" {

void* octetCreateOnnxParser(void* network, void* logger) noexcept;
void* octetCreateOnnxRefitter(void* refitter, void* logger) noexcept;

__attribute__((visibility("default"))) void* createNvOnnxParser_INTERNAL(void* network,
                                                                         void* logger,
                                                                         int) noexcept {
  return octetCreateOnnxParser(network, logger);
}

#if NV_TENSORRT_MAJOR >= 10
__attribute__((visibility("default"))) void* createNvOnnxParserRefitter_INTERNAL(void* refitter,
                                                                                 void* logger,
                                                                                 int32_t) noexcept {
  return octetCreateOnnxRefitter(refitter, logger);
}
#endif

__attribute__((visibility("default"))) int getNvOnnxParserVersion() noexcept {
  return NV_ONNX_PARSER_VERSION;
}

}  // extern "C"
