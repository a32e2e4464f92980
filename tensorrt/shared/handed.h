// SPDX-License-Identifier: Apache-2.0
// What the library hands out. At level 10 an object is the handle that a client holds and the table that the handle calls, in one.
#pragma once

#include <memory>
#include <typeinfo>

#include "tensorrt/shared/types.h"

namespace octet_trt {

// The logger of the process: the first that a builder, a runtime or a refitter was made with.
void remember_logger(nvinfer1::ILogger* logger);
nvinfer1::ILogger* remembered_logger();
// For what was given no logger (the registry): standard error. The logger of an object will not do: another thread may destroy both while it
// is called, and an object that waited for that call would wait for ever where its thread holds a lock that log() takes (Python's, say).
nvinfer1::ILogger& error_output();

// Clients destroy objects in any order: what may go before the one that points to it is watched.
template <class Object>
class Watched {
 public:
  explicit Watched(Object* object) : self_(std::make_shared<Object*>(object)) {}
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  std::weak_ptr<Object*> watch() const { return self_; }

 private:
  std::shared_ptr<Object*> self_;
};

template <class Object>
class Watch {
 public:
  Watch() = default;
  explicit Watch(const Watched<Object>& watched) : self_(watched.watch()) {}
  // Null where it is gone.
  Object* get() const {
    const auto self = self_.lock();
    return self == nullptr ? nullptr : *self;
  }

 private:
  std::weak_ptr<Object*> self_;
};

#if NV_TENSORRT_MAJOR >= 10

// A program that was compiled with a later version called place `place` behind the end of a table: one line on standard error, and null.
// What the function takes and gives is not known, so nothing of it is touched.
void* beyond_table(const char* table, int place) noexcept;

#define OCTET_TRT_BEYOND(place) \
  virtual void* beyond##place() noexcept { return beyond_table(typeid(Table).name(), place); }

// A table, or a class whose functions clients call directly, with places behind its end, where later versions have functions that are not here.
template <class Table>
class Padded : public Table {
 public:
  OCTET_TRT_BEYOND(0)
  OCTET_TRT_BEYOND(1)
  OCTET_TRT_BEYOND(2)
  OCTET_TRT_BEYOND(3)
  OCTET_TRT_BEYOND(4)
  OCTET_TRT_BEYOND(5)
  OCTET_TRT_BEYOND(6)
  OCTET_TRT_BEYOND(7)
  OCTET_TRT_BEYOND(8)
  OCTET_TRT_BEYOND(9)
  OCTET_TRT_BEYOND(10)
  OCTET_TRT_BEYOND(11)
};

#undef OCTET_TRT_BEYOND

template <class Handle>
class Handed : public Handle, public Padded<typename Handle::OctetTable> {
 protected:
  Handed() { this->mImpl = this; }
};

// A layer has two tables: what all layers have, and its own.
template <class Layer>
class HandedLayer : public Layer,
                    public Padded<apiv::VLayer>,
                    public Padded<typename Layer::OctetTable> {
 protected:
  HandedLayer() {
    this->mLayer = this;
    this->mImpl = this;
  }
  // A property changed: what was inferred of the layer holds no more.
  virtual void changed() noexcept = 0;
  // A property was to be what it cannot be, and stays what it is.
  virtual void refused(const char* property, const std::string& why) noexcept = 0;
};

// The name of a function that is overloaded in a handle, and has a name of its own in a table.
#define OCTET_TRT_V2(name) name##V2
// Of a function that is const in all but the table.
#define OCTET_TRT_CONST_8

#else

// Clients of level 8 name what they call: nothing stands behind an end.
template <class Interface>
using Padded = Interface;

template <class Handle>
class Handed : public Handle {};

template <class Layer>
class HandedLayer : public Layer {
 protected:
  virtual void changed() noexcept = 0;
  virtual void refused(const char* property, const std::string& why) noexcept = 0;
};

#define OCTET_TRT_V2(name) name
#define OCTET_TRT_CONST_8 const

#endif

}  // namespace octet_trt
