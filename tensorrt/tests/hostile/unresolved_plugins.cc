// SPDX-License-Identifier: Apache-2.0
// A library of plugins that calls what only a real TensorRT has.
extern "C" {

void* createInferSafetyThing_INTERNAL(int version) noexcept;

__attribute__((visibility("default"))) void* const* getCreators(int& count) {
  count = 1;
  static void* creator = createInferSafetyThing_INTERNAL(10);
  return &creator;
}

}  // extern "C"
