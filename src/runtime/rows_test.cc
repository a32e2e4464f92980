// SPDX-License-Identifier: Apache-2.0
// Batches whose rows lie apart give the bytes of batches that lie in one piece.
#include "octet/rows.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "graph/interpret.h"
#include "octet/error.h"
#include "plan/groups.h"
#include "runtime/bound_plan.h"
#include "runtime/context.h"
#include "runtime/conv_chain_testing.h"
#include "runtime/inside.h"
#include "runtime/model.h"
#include "runtime/random_graph_testing.h"

namespace octet {
namespace {

// Each row in a block of its own, in no order, at this distance from its beginning; whoever writes beyond one meets what stands around it.
class RowsApart {
 public:
  RowsApart(const TensorType& type, size_t skew, u32 seed) : type_(type), skew_(skew) {
    const auto count = static_cast<size_t>(type.shape[0]);
    row_bytes_ = static_cast<size_t>(type.bytes()) / count;
    blocks_.resize(count);
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    for (const size_t i : order) {
      blocks_[i] = std::make_unique<std::byte[]>(row_bytes_ + 2 * kAround);
      std::memset(blocks_[i].get(), kMark, row_bytes_ + 2 * kAround);
    }
    for (auto& block : blocks_) rows_.push_back(block.get() + kAround + skew_);
    read_.assign(rows_.begin(), rows_.end());
  }

  void fill(const Tensor& from) {
    for (size_t i = 0; i < rows_.size(); ++i)
      std::memcpy(rows_[i], from.data() + i * row_bytes_, row_bytes_);
  }

  bool holds(const Tensor& wanted) const {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (std::memcmp(rows_[i], wanted.data() + i * row_bytes_, row_bytes_) != 0) return false;
    }
    return true;
  }

  bool is_intact_around() const {
    return std::ranges::all_of(blocks_, [&](const auto& block) {
      const std::byte* const begin = block.get();
      const std::byte* const end = begin + row_bytes_ + 2 * kAround;
      const auto marked = [](std::byte byte) { return byte == std::byte{kMark}; };
      return std::all_of(begin, begin + kAround + skew_, marked) &&
             std::all_of(begin + kAround + skew_ + row_bytes_, end, marked);
    });
  }

  RowsView view() const { return {type_, read_}; }
  MutableRowsView mutable_view() const { return {type_, rows_}; }

 private:
  static constexpr size_t kAround = 64;
  static constexpr unsigned char kMark = 0xa5;

  TensorType type_;
  size_t skew_, row_bytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<std::byte*> rows_;
  std::vector<const std::byte*> read_;
};

struct RowsCase {
  explicit RowsCase(s64 batch, u32 seed) : input(test::noise({batch, 3, 12, 10}, seed)) {
    auto made = std::make_shared<Model>();
    made->graph = test::GraphMaker(batch, seed).finish();
    want = interpret(made->graph, std::vector<Tensor>{input});
    model = std::move(made);
  }

  Tensor input;
  std::vector<Tensor> want;
  std::shared_ptr<const Model> model;
};

// As many outputs as are rows of the batch: a graph may move the batch elsewhere.
bool has_rows(const RowsCase& made) {
  return std::ranges::all_of(made.want, [&](const Tensor& output) {
    return output.shape().rank() > 0 && output.shape()[0] == made.input.shape()[0];
  });
}

s64 run_apart(Context& context, const RowsCase& made, size_t skew, u32 seed) {
  RowsApart in(made.input.type(), skew, seed);
  in.fill(made.input);
  std::vector<RowsApart> out;
  for (const Tensor& output : made.want) out.emplace_back(output.type(), skew, seed + 1);
  std::vector<MutableRowsView> outputs;
  for (const RowsApart& rows : out) outputs.push_back(rows.mutable_view());
  const s64 copied = run_rows_into(context, std::vector{in.view()}, outputs);
  EXPECT_TRUE(in.holds(made.input));
  EXPECT_TRUE(in.is_intact_around());
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_TRUE(out[i].holds(made.want[i])) << i;
    EXPECT_TRUE(out[i].is_intact_around()) << i;
  }
  return copied;
}

TEST(Rows, ApartGiveTheBytesOfTheWhole) {
  size_t runs = 0;
  for (u32 seed = 0; seed < 60; ++seed) {
    const RowsCase made(seed % 2 == 0 ? 4 : 6, seed);
    if (!has_rows(made)) continue;
    Context context = Inside::context(made.model, {.threads = 1 + static_cast<int>(seed % 3)});
    // Between runs of both kinds nothing stays behind.
    for (const size_t skew : {size_t{0}, size_t{1}, size_t{4}}) {
      SCOPED_TRACE(std::to_string(seed) + " at " + std::to_string(skew));
      run_apart(context, made, skew, seed);
      const std::vector<Tensor> got = context.run(std::vector<Tensor>{made.input});
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(std::memcmp(got[i].data(), made.want[i].data(), got[i].bytes()), 0) << i;
      ++runs;
    }
  }
  EXPECT_GT(runs, 60u);
}

std::vector<BatchShare> some_shares(size_t nodes, s64 batch, u32 seed) {
  std::mt19937 random(seed);
  std::vector<BatchShare> shares(nodes);
  for (size_t n = 0; n < nodes; ++n) {
    const s64 groups = 1 + static_cast<s64>(random() % static_cast<u64>(batch));
    shares[n] = n > 0 && random() % 4 != 0 ? shares[n - 1] : BatchShare{groups, random() % 2 == 0};
  }
  return shares;
}

// Memory behind whose last byte nothing may be read or written.
class Guarded {
 public:
  explicit Guarded(size_t bytes)
      : bytes_(bytes), pages_((bytes + kPage - 1) / kPage * kPage), begin_(map(pages_ + kPage)) {
    ::mprotect(begin_ + pages_, kPage, PROT_NONE);
  }
  ~Guarded() { ::munmap(begin_, pages_ + kPage); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::byte* data() const { return begin_ + pages_ - bytes_; }

 private:
  static constexpr size_t kPage = 4096;

  static std::byte* map(size_t bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(at);
  }

  size_t bytes_, pages_;
  std::byte* begin_;
};

// A tensor of the caller's in blocks of so many rows, each for itself; 0: in one.
struct Blocks {
  Blocks(const Tensor& like, s64 count) {
    const s64 batch = like.shape()[0], rows_of_block = count == 0 ? batch : count;
    row_bytes = like.bytes() / static_cast<size_t>(batch);
    for (s64 row = 0; row < batch; ++row) {
      if (row % rows_of_block == 0)
        blocks.push_back(std::make_unique<Guarded>(row_bytes * static_cast<size_t>(rows_of_block)));
      rows.push_back(blocks.back()->data() + row_bytes * static_cast<size_t>(row % rows_of_block));
    }
  }

  size_t row_bytes = 0;
  std::vector<std::unique_ptr<Guarded>> blocks;
  std::vector<std::byte*> rows;
};

TEST(Rows, GroupsOfImagesTakeThemWhereTheyLie) {
  size_t apart[2] = {0, 0};
  for (u32 seed = 0; seed < 150; ++seed) {
    const s64 batch = seed % 2 == 0 ? 4 : 6;
    const RowsCase made(batch, seed);
    if (!has_rows(made)) continue;
    const Target target = cpu_target(hardware_isa(), 1 + static_cast<int>(seed % 3));
    Queues queues(target);
    PreparedStore store;
    BoundPlan bound(make_plan_in_groups(made.model->graph, std::vector{made.input.shape()}, target,
                                        some_shares(made.model->graph.nodes.size(), batch, seed)),
                    queues, store);
    std::vector<Tensor> tensors = {made.input};
    for (const Tensor& output : made.want) tensors.emplace_back(output.dtype(), output.shape());
    std::vector<Blocks> blocks;
    for (size_t t = 0; t < tensors.size(); ++t) {
      const CallerTensor which{t > 0, t > 0 ? t - 1 : 0};
      const s64 count = bound.rows_at_a_time(which);
      apart[which.is_output] += count > 0 && count < batch;
      Blocks& block = blocks.emplace_back(tensors[t], count);
      for (size_t row = 0; t == 0 && row < block.rows.size(); ++row)
        std::memcpy(block.rows[row], made.input.data() + row * block.row_bytes, block.row_bytes);
      if (count > 0) bound.place_rows(which, block.rows);
      tensors[t] = Tensor(tensors[t].type(),
                          std::shared_ptr<const std::byte>(std::shared_ptr<void>(), block.rows[0]));
    }
    // The second run begins with what the first left behind.
    for (int i = 0; i < 2; ++i)
      bound.run(std::span(tensors).first(1), std::span(tensors).subspan(1));
    for (size_t i = 0; i < made.want.size(); ++i) {
      const Blocks& block = blocks[i + 1];
      for (size_t row = 0; row < block.rows.size(); ++row)
        ASSERT_EQ(std::memcmp(block.rows[row], made.want[i].data() + row * block.row_bytes,
                              block.row_bytes),
                  0)
            << seed << " output " << i << " row " << row;
    }
  }
  EXPECT_GT(apart[0], 30u);
  EXPECT_GT(apart[1], 10u);
}

// Images that a core's cache holds few of.
const Shape kLarge{4, 16, 192, 192};

std::shared_ptr<const Model> model_of_large_images() {
  return test::ConvChain(16)
      .dense(16, 3)
      .depthwise(3)
      .dense(16, 1)
      .depthwise(3)
      .dense(16, 1)
      .dense(16, 3)
      .finish();
}

Tensor large_images() {
  Tensor images(Dtype::u8, kLarge);
  std::mt19937 random(1);
  for (u8& code : images.mutable_as<u8>()) code = static_cast<u8>(random());
  return images;
}

TEST(Rows, InputsOfLayersThatGoImageByImageAreNotCopied) {
  const Tensor x = large_images();
  Context context = Inside::context(model_of_large_images());
  const std::vector<Tensor> want = context.run(std::vector{x});
  RowsApart in(x.type(), 0, 1), out(want[0].type(), 3, 2);
  in.fill(x);
  // The last step of this plan, a move of the result, takes the batch as one.
  EXPECT_EQ(run_rows_into(context, std::vector{in.view()}, std::vector{out.mutable_view()}),
            static_cast<s64>(want[0].bytes()));
  EXPECT_TRUE(out.holds(want[0]) && out.is_intact_around());
}

std::string refusal(Context& context, std::vector<RowsView> inputs,
                    std::vector<MutableRowsView> outputs) {
  try {
    run_rows_into(context, inputs, outputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

TEST(Rows, OnesThatDoNotFitAreRefused) {
  Context context = Inside::context(model_of_large_images());
  RowsApart in({Dtype::u8, kLarge}, 0, 1), out({Dtype::u8, kLarge}, 0, 2);
  in.fill(large_images());
  const auto refused = [&](const std::string& part, const RowsView& input,
                           const MutableRowsView& output) {
    const std::string told = refusal(context, {input}, {output});
    EXPECT_NE(told.find(part), told.npos) << told;
  };
  RowsView few = in.view(), none = in.view(), other = in.view(), open = in.view();
  few.rows = few.rows.first(3);
  std::vector<const std::byte*> holes(none.rows.begin(), none.rows.end());
  holes[2] = nullptr;
  none.rows = holes;
  other.type.dtype = Dtype::s32;
  open.type.shape = Shape{Shape::kDynamic, 16, 160, 160};
  refused("input 'x' has 3 rows for", few, out.mutable_view());
  refused("input 'x' has a row without data", none, out.mutable_view());
  refused("input 'x' expects u8", other, out.mutable_view());
  refused("rows need a batch of known sizes", open, out.mutable_view());
  MutableRowsView wrong = out.mutable_view();
  wrong.type.dtype = Dtype::s32;
  refused("output 0 has type", in.view(), wrong);
  const std::string told = refusal(context, {in.view(), in.view()}, {out.mutable_view()});
  EXPECT_NE(told.find("the model has 1 inputs, got 2"), told.npos) << told;
  EXPECT_EQ(refusal(context, {in.view()}, {out.mutable_view()}), "taken");
}

}  // namespace
}  // namespace octet
