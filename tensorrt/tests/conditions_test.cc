// SPDX-License-Identifier: Apache-2.0
// Conditions that are made layer by layer.
#include "control_support.h"

namespace trt_test::control {
namespace {

// x + 10 or x * 2; both sides share a layer, and one of them has a loop inside.
TEST(Conditions, OneOfTwoSides) {
  const auto chosen = [](const Values& input) {
    return layer_result({2}, input, [](INetworkDefinition& n, ITensor& x) {
      IIfConditional* either = n.addIfConditional();
      EXPECT_EQ(either->setCondition(*is_positive(n, x))->getConditional(), either);
      ITensor* inside = either->addInput(x)->getOutput(0);
      ITensor* shared = n.addIdentity(*inside)->getOutput(0);
      ITensor* yes = combined(n, *shared, Op::kSUM, *real(n, kTen, {1}));
      ILoop* loop = n.addLoop();
      loop->addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
      IRecurrenceLayer* state = loop->addRecurrence(*shared);
      state->setInput(1, *combined(n, *state->getOutput(0), Op::kPROD, *real(n, kTwo, {1})));
      ITensor* no =
          loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
      IIfConditionalOutputLayer* out = either->addOutput(*yes, *no);
      EXPECT_EQ(sizes_of(out->getOutput(0)->getDimensions()), (std::vector<int64_t>{2}));
      return out->getOutput(0);
    });
  };
  EXPECT_EQ(chosen({1, 2}), (Values{11, 12}));
  EXPECT_EQ(chosen({-1, -2}), (Values{-8, -16}));
}

// What the sides give is of one size and type.
TEST(Conditions, SidesThatDifferAreRefused) {
  const auto given = [](const std::function<ITensor*(INetworkDefinition&, ITensor&)>& other) {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    ITensor* x = n.addInput("x", DataType::kFLOAT, Dims{1, {2}});
    IIfConditional* either = n.addIfConditional();
    either->setCondition(*is_positive(n, *x));
    ITensor* inside = either->addInput(*x)->getOutput(0);
    ITensor* y = either->addOutput(*inside, *other(n, *inside))->getOutput(0);
    EXPECT_EQ(y->getDimensions().nbDims, -1);
    EXPECT_TRUE(maker.logger.has("differ in their sizes or their type")) << maker.logger.text;
    n.markOutput(*y);
    EXPECT_EQ(maker.build(), nullptr);
  };
  given([](INetworkDefinition& n, ITensor& inside) {
    ITensor* const twice[2] = {&inside, &inside};
    return n.addConcatenation(twice, 2)->getOutput(0);
  });
  given([](INetworkDefinition& n, ITensor& inside) {
    ICastLayer* cast = n.addCast(inside, DataType::kINT32);
    return cast->getOutput(0);
  });
  given([](INetworkDefinition& n, ITensor& inside) {
    IShuffleLayer* row = n.addShuffle(inside);
    row->setReshapeDimensions(Dims2{1, 2});
    return row->getOutput(0);
  });
}

// Both sides read the next condition, which both sides of that one's read, and so on.
TEST(Conditions, ManyThatBothSidesReadAreRefused) {
  for (const int depth : {4, 40}) {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    ITensor* x = n.addInput("x", DataType::kFLOAT, Dims{1, {2}});
    ITensor* positive = is_positive(n, *x);
    std::vector<IIfConditional*> conditions;
    ITensor* value = x;
    for (int i = 0; i < depth; ++i) {
      conditions.push_back(n.addIfConditional());
      conditions.back()->setCondition(*positive);
      value = conditions.back()->addInput(*value)->getOutput(0);
    }
    for (; !conditions.empty(); conditions.pop_back())
      value = conditions.back()
                  ->addOutput(*combined(n, *value, Op::kSUM, *real(n, kOne, {1})),
                              *combined(n, *value, Op::kPROD, *real(n, kTwo, {1})))
                  ->getOutput(0);
    n.markOutput(*value);
    const Own<ICudaEngine> engine = maker.build();
    if (depth == 4) {
      ASSERT_NE(engine, nullptr) << maker.logger.text;
      EXPECT_EQ(run(*engine, {5, 6}), (Values{9, 10}));
    } else {
      EXPECT_EQ(engine, nullptr);
      EXPECT_TRUE(maker.logger.has("conditions that both sides read are written for each"))
          << maker.logger.text.substr(0, 2000);
    }
  }
}

TEST(Conditions, InsideOfALoop) {
  const Values found = layer_result({3, 1}, {1, -1, 5}, [](INetworkDefinition& n, ITensor& x) {
    ILoop* loop = n.addLoop();
    ITensor* count = integer(n, kThree);
    loop->addTripLimit(*count, TripLimit::kCOUNT);
    ITensor* row = loop->addIterator(x)->getOutput(0);
    IIfConditional* either = n.addIfConditional();
    either->setCondition(*is_positive(n, *row));
    ITensor* inside = either->addInput(*row)->getOutput(0);
    ITensor* chosen = either
                          ->addOutput(*combined(n, *inside, Op::kSUM, *real(n, kTen, {1})),
                                      *combined(n, *inside, Op::kPROD, *real(n, kTwo, {1})))
                          ->getOutput(0);
    ILoopOutputLayer* out = loop->addLoopOutput(*chosen, LoopOutput::kCONCATENATE);
    out->setInput(1, *count);
    return out->getOutput(0);
  });
  EXPECT_EQ(found, (Values{11, -2, 15}));
}

TEST(Conditions, WhatIsInsideIsNotTakenFromOutside) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims{1, {2}});
  IIfConditional* either = n.addIfConditional();
  either->setName("either");
  ITensor* inside = either->addInput(*x)->getOutput(0);
  either->setCondition(*is_positive(n, *inside));
  n.markOutput(*either->addOutput(*inside, *inside)->getOutput(0));
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has("computed inside of condition 'either': compute it outside"))
      << maker.logger.text;
}

// Types are named as clients know them.
TEST(Conditions, AreTruths) {
  {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    ITensor* x = n.addInput("x", DataType::kFLOAT, Dims{1, {2}});
    IIfConditional* either = n.addIfConditional();
    either->setCondition(*integer(n, kThree));
    ITensor* inside = either->addInput(*x)->getOutput(0);
    n.markOutput(*either->addOutput(*inside, *inside)->getOutput(0));
    EXPECT_EQ(maker.build(), nullptr);
    EXPECT_TRUE(maker.logger.has("is of type Int32, and needs to be of type Bool"))
        << maker.logger.text;
  }
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ILoop* loop = n.addLoop();
  IRecurrenceLayer* state = loop->addRecurrence(*n.addInput("x", DataType::kFLOAT, Dims{0, {}}));
  state->setInput(1, *state->getOutput(0));
  loop->addTripLimit(*state->getOutput(0), TripLimit::kWHILE);
  n.markOutput(*loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0));
  EXPECT_EQ(maker.build(), nullptr);
  EXPECT_TRUE(maker.logger.has("is of type Float, and needs to be of type Bool"))
      << maker.logger.text;
}

}  // namespace
}  // namespace trt_test::control
