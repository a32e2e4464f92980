// SPDX-License-Identifier: Apache-2.0
// Loops that are wrong, and layers that rest on themselves.
#include "control_support.h"

namespace trt_test::control {
namespace {

// What is wrong is told where the network is built, or where it is made.
TEST(Loops, WrongOnesAreRefused) {
  const auto told = [](const std::function<ITensor*(INetworkDefinition&, ILoop&, ITensor&)>& make) {
    Maker maker;
    ITensor* x = maker.network->addInput("x", DataType::kFLOAT, Dims2{3, 2});
    ILoop* loop = maker.network->addLoop();
    loop->setName("rows");
    ITensor* y = make(*maker.network, *loop, *x);
    if (y != nullptr) maker.network->markOutput(*y);
    EXPECT_EQ(maker.build(), nullptr);
    return maker.logger.text;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(told([](INetworkDefinition&, ILoop& loop, ITensor& x) {
        IRecurrenceLayer* state = loop.addRecurrence(x);
        state->setInput(1, *state->getOutput(0));
        return loop.addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
      }),
      "loop 'rows' has no trip limit");
  has(told([](INetworkDefinition& n, ILoop& loop, ITensor& x) {
        loop.addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
        IRecurrenceLayer* state = loop.addRecurrence(x);
        return loop.addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
      }),
      "lacks its input 1: what it is in the next round");
  has(told([](INetworkDefinition& n, ILoop& loop, ITensor& x) {
        loop.addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
        return n.addIdentity(*loop.addIterator(x)->getOutput(0))->getOutput(0);
      }),
      "is inside of loop 'rows' and cannot be an output of the network");
  has(told([](INetworkDefinition& n, ILoop& loop, ITensor& x) {
        loop.addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
        ITensor* row = loop.addIterator(x)->getOutput(0);
        return loop.addLoopOutput(*row, LoopOutput::kLAST_VALUE)->getOutput(0);
      }),
      "is no recurrence of loop 'rows', of which alone there is a last value");
  has(told([](INetworkDefinition& n, ILoop& loop, ITensor& x) {
        loop.addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
        EXPECT_EQ(loop.addTripLimit(*integer(n, kThree), TripLimit::kCOUNT), nullptr);
        ITensor* row = loop.addIterator(x)->getOutput(0);
        return loop.addLoopOutput(*row, LoopOutput::kCONCATENATE)->getOutput(0);
      }),
      "loop 'rows' has a limit of this kind already");
  has(told([](INetworkDefinition& n, ILoop& loop, ITensor& x) {
        loop.addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
        ITensor* row = loop.addIterator(x)->getOutput(0);
        ILoop* other = n.addLoop();
        other->setName("others");
        other->addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
        ITensor* mixed = combined(n, *row, Op::kSUM, *other->addIterator(x)->getOutput(0));
        ILoopOutputLayer* out = loop.addLoopOutput(*mixed, LoopOutput::kCONCATENATE);
        out->setInput(1, *integer(n, kThree));
        return out->getOutput(0);
      }),
      "others'");
  has(told([](INetworkDefinition& n, ILoop&, ITensor& x) {
        IIfConditional* either = n.addIfConditional();
        either->setName("either");
        ITensor* inside = either->addInput(x)->getOutput(0);
        return either->addOutput(*inside, *inside)->getOutput(0);
      }),
      "condition 'either' has no condition");
}

// What a scope's node takes is there before what is inside.
TEST(Loops, WhatIsInsideIsNotTakenFromOutside) {
  const auto told = [](const std::function<void(INetworkDefinition&, ILoop&, Rows&)>& change) {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    Rows rows(n, *n.addInput("x", DataType::kFLOAT, dims_of({2, 2})), false, kThree);
    rows.loop->setName("rows");
    ILoopOutputLayer* out = rows.loop->addLoopOutput(*rows.next, LoopOutput::kCONCATENATE);
    out->setInput(1, *rows.count);
    n.markOutput(*out->getOutput(0));
    change(n, *rows.loop, rows);
    EXPECT_EQ(maker.build(), nullptr);
    EXPECT_TRUE(maker.logger.has("computed inside of loop 'rows': compute it outside"))
        << maker.logger.text;
    return maker.logger.text;
  };
  const auto layer_of = [](INetworkDefinition& n, LayerType type) {
    for (int32_t i = 0; i < n.getNbLayers(); ++i)
      if (n.getLayer(i)->getType() == type) return n.getLayer(i);
    return static_cast<ILayer*>(nullptr);
  };
  const auto inside = [](INetworkDefinition& n, Rows& rows) {
    return n
        .addCast(*n.addReduce(*rows.next, ReduceOperation::kSUM, 1, false)->getOutput(0),
                 DataType::kINT32)
        ->getOutput(0);
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(told([&](INetworkDefinition& n, ILoop&, Rows& rows) {
        layer_of(n, LayerType::kTRIP_LIMIT)->setInput(0, *inside(n, rows));
      }),
      "how many rounds there are");
  has(told([&](INetworkDefinition& n, ILoop&, Rows& rows) {
        layer_of(n, LayerType::kLOOP_OUTPUT)->setInput(1, *inside(n, rows));
      }),
      "how many rounds its output has");
  has(told([&](INetworkDefinition& n, ILoop& loop, Rows&) {
        ITensor* row = layer_of(n, LayerType::kITERATOR)->getOutput(0);
        IRecurrenceLayer* other = loop.addRecurrence(*row);
        other->setInput(1, *other->getOutput(0));
        n.markOutput(
            *loop.addLoopOutput(*other->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0));
      }),
      "its initial value");
  has(told([&](INetworkDefinition& n, ILoop& loop, Rows& rows) {
        ITensor* row = layer_of(n, LayerType::kITERATOR)->getOutput(0);
        ITensor* one = loop.addIterator(*row)->getOutput(0);
        rows.state->setInput(1,
                             *combined(n, *rows.next, Op::kSUM, *n.addShuffle(*one)->getOutput(0)));
      }),
      "what it goes through");
}

// Inputs that are set to what comes behind them are refused wherever sizes or types are asked.
TEST(Layers, WhatRestsOnItselfIsRefused) {
  const auto refused = [](const std::function<ITensor*(INetworkDefinition&, ITensor&)>& add) {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    ITensor* y = add(n, *n.addInput("x", DataType::kFLOAT, Dims{1, {2}}));
    EXPECT_EQ(y->getDimensions().nbDims, -1);
    EXPECT_TRUE(maker.logger.has("reads what rests on it")) << maker.logger.text;
    static_cast<void>(y->getType());
    n.markOutput(*y);
    EXPECT_EQ(maker.build(), nullptr);
    // Again, once it was refused.
    EXPECT_EQ(y->getDimensions().nbDims, -1);
  };
  refused([](INetworkDefinition& n, ITensor& x) {
    ILoop* loop = n.addLoop();
    loop->addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
    IRecurrenceLayer* state = loop->addRecurrence(x);
    ITensor* next = combined(n, *state->getOutput(0), Op::kSUM, x);
    state->setInput(0, *next);
    state->setInput(1, *next);
    return loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  });
  refused([](INetworkDefinition& n, ITensor& x) {
    static const bool holds = true;
    IIfConditional* either = n.addIfConditional();
    either->setCondition(
        *n.addConstant(Dims{0, {}}, Weights{DataType::kBOOL, &holds, 1})->getOutput(0));
    IIfConditionalInputLayer* inside = either->addInput(x);
    ITensor* y = either->addOutput(*inside->getOutput(0), *inside->getOutput(0))->getOutput(0);
    inside->setInput(0, *y);
    return y;
  });
  refused([](INetworkDefinition& n, ITensor& x) {
    IActivationLayer* first = n.addActivation(x, ActivationType::kRELU);
    IActivationLayer* second = n.addActivation(*first->getOutput(0), ActivationType::kRELU);
    first->setInput(0, *second->getOutput(0));
    return second->getOutput(0);
  });
  refused([](INetworkDefinition& n, ITensor& x) {
    IActivationLayer* own = n.addActivation(x, ActivationType::kRELU);
    own->setInput(0, *own->getOutput(0));
    return own->getOutput(0);
  });
}

// x + 1, by loops of one round inside of each other.
TEST(Loops, ManyInsideOfEachOther) {
  for (const int depth : {12, 100}) {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    static const int32_t once = 1;
    ITensor* value = n.addInput("x", DataType::kFLOAT, Dims{1, {1}});
    std::vector<IRecurrenceLayer*> states;
    std::vector<ILoop*> loops;
    for (int i = 0; i < depth; ++i) {
      loops.push_back(n.addLoop());
      loops.back()->addTripLimit(*integer(n, once), TripLimit::kCOUNT);
      states.push_back(loops.back()->addRecurrence(*value));
      value = states.back()->getOutput(0);
    }
    value = combined(n, *value, Op::kSUM, *real(n, kOne, {1}));
    while (!loops.empty()) {
      states.back()->setInput(1, *value);
      value = loops.back()
                  ->addLoopOutput(*states.back()->getOutput(0), LoopOutput::kLAST_VALUE)
                  ->getOutput(0);
      states.pop_back();
      loops.pop_back();
    }
    n.markOutput(*value);
    const Own<ICudaEngine> engine = maker.build();
    if (depth == 12) {
      ASSERT_NE(engine, nullptr) << maker.logger.text;
      EXPECT_EQ(run(*engine, {5}), (Values{6}));
    } else {
      EXPECT_EQ(engine, nullptr);
      EXPECT_TRUE(maker.logger.has("or of 64 loops and conditions or more")) << maker.logger.text;
    }
  }
}

#if NV_TENSORRT_MAJOR < 10
TEST(Loops, NeedAnExplicitBatch) {
  Maker maker(0);
  EXPECT_EQ(maker.network->addLoop(), nullptr);
  EXPECT_EQ(maker.network->addIfConditional(), nullptr);
  EXPECT_TRUE(maker.logger.has("networks with an implicit batch have no loops or conditions"));
}
#endif

}  // namespace
}  // namespace trt_test::control
