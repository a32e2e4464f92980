// SPDX-License-Identifier: Apache-2.0
// A library of CUDA's beside its runtime, for machines without a GPU: programs that compute by TensorRT but were linked with it load. Handles
// are made and taken; what would compute says that it is not supported. Arguments that are not read are not declared.
//
// OCTET_LIBRARY_FUNCTIONS is the library's file of functions:
//   MADE(f)     makes a handle     TAKEN(f)    takes what it is given, and does nothing
//   TEXT(f)     tells of a status  REFUSED(f)  OCTET_LIBRARY_REFUSAL, the library's own "not supported"
//   PLACE(f)    tells where memory is: the host's        COPIED(f)  copies into it
#include <cstdint>
#include <cstring>

#pragma GCC visibility push(default)
extern "C" {

#define MADE(name)                            \
  int name(void** handle);                    \
  int name(void** handle) {                   \
    static int object;                        \
    if (handle != nullptr) *handle = &object; \
    return 0;                                 \
  }
#define TAKEN(name) \
  int name();       \
  int name() { return 0; }
#define TEXT(name)    \
  const char* name(); \
  const char* name() { return "not supported without a GPU"; }
#define REFUSED(name) \
  int name();         \
  int name() { return OCTET_LIBRARY_REFUSAL; }

// Attribute 2 is the kind of memory, of which 1 is the host's.
#define PLACE(name)                                            \
  int name(void* told, int attribute, uint64_t pointer);       \
  int name(void* told, int attribute, uint64_t) {              \
    const unsigned host = 1;                                   \
    if (attribute != 2 || !told) return OCTET_LIBRARY_REFUSAL; \
    std::memcpy(told, &host, sizeof host);                     \
    return 0;                                                  \
  }
#define COPIED(name)                                       \
  int name(uint64_t to, const void* from, size_t bytes);   \
  int name(uint64_t to, const void* from, size_t bytes) {  \
    std::memcpy(reinterpret_cast<void*>(to), from, bytes); \
    return 0;                                              \
  }

#include OCTET_LIBRARY_FUNCTIONS

}  // extern "C"
#pragma GCC visibility pop
