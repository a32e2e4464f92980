// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "octet/error.h"
#include "octet/limits.h"
#include "octet/tensor.h"

namespace octet {
namespace {

class Memory : public testing::Test {
 protected:
  void TearDown() override { set_limits({}); }

  static void limit(s64 bytes) {
    Limits limits;
    limits.memory = bytes;
    set_limits(limits);
  }
};

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::out_of_memory);
    return error.what();
  }
  return "";
}

TEST_F(Memory, NamesWhatIsNeededAndTheLimit) {
  limit(s64{1} << 30);
  EXPECT_EQ(error_of([] { check_fits(s64{4} << 40, "node 'tile'"); }),
            "node 'tile' needs 4 TiB, limit 1 GiB");
  EXPECT_EQ(error_of([] { check_fits(s64{1} << 30, "it"); }), "");
}

TEST_F(Memory, CountsWhatIsAliveAtOnce) {
  const s64 before = counted_bytes();
  limit(before + 4096);
  {
    const Tensor first(Dtype::u8, {3000});
    EXPECT_GT(counted_bytes(), before + 3000);
    EXPECT_NE(error_of([] { Tensor(Dtype::u8, {3000}); }).find("are in use, limit"),
              std::string::npos);
  }
  EXPECT_EQ(counted_bytes(), before);
  EXPECT_EQ(error_of([] { Tensor(Dtype::u8, {3000}); }), "");
}

TEST_F(Memory, SizesNearTheEndOfTheNumbersAreRefused) {
  EXPECT_NE(error_of([] { Tensor(Dtype::u8, {std::numeric_limits<s64>::max()}); }), "");
  EXPECT_NE(error_of([] { Tensor(Dtype::u8, {std::numeric_limits<s64>::max() - 64}); }), "");
  EXPECT_EQ(counted_bytes(), 0);
}

TEST_F(Memory, HeapAndLibrariesCountToo) {
  const s64 before = counted_bytes();
  limit(before + 4096);
  count_heap(3000);
  EXPECT_EQ(counted_bytes(), before + 3000);
  EXPECT_THROW(count_heap(3000), std::bad_alloc);
  EXPECT_NE(error_of([] { Tensor(Dtype::u8, {3000}); }), "");
  EXPECT_EQ(error_of([] { without_bad_alloc([] { count_heap(3000); }); }),
            "working on it needs 2.93 KiB and 2.93 KiB are in use, limit 4 KiB");
  uncount_heap(3000);
  {
    const Reserved reserved(4000, "a decoder");
    EXPECT_NE(error_of([] { const Reserved more(4000, "a decoder"); }), "");
  }
  EXPECT_EQ(counted_bytes(), before);
}

TEST_F(Memory, DestructorsMayFinishBeyondTheLimit) {
  struct Cleaner {
    ~Cleaner() { count_heap(1 << 20); }  // a throw from here would end the process
  };
  limit(counted_bytes() + 4096);
  EXPECT_NE(error_of([] {
              const Cleaner cleaner;
              check_fits(s64{1} << 20, "it");
            }),
            "");
  uncount_heap(1 << 20);
}

TEST_F(Memory, DefaultsAreBoundedByTheMachine) {
  EXPECT_EQ(limits().memory, machine_memory_limit());
  limit(std::numeric_limits<s64>::max());
  EXPECT_EQ(limits().memory, machine_memory_limit());
  EXPECT_LE(default_memory_limit(0), s64{8} << 30);
  EXPECT_LE(default_memory_limit(std::numeric_limits<u64>::max()), machine_memory_limit());
}

TEST_F(Memory, StorageIsAlignedAndZeroed) {
  const auto storage = allocate_counted(100, 4096, "a test");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(storage.get()) % 4096, 0u);
  for (s64 i = 0; i < 100 + 4096; ++i) ASSERT_EQ(storage.get()[i], std::byte{0});
}

}  // namespace
}  // namespace octet
