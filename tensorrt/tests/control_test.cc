// SPDX-License-Identifier: Apache-2.0
// Loops and conditions that are made layer by layer.
#include "support.h"

namespace trt_test::control {
namespace {

using Values = std::vector<float>;
using Op = ElementWiseOperation;

ITensor* integer(INetworkDefinition& n, const int32_t& value) {
  return n.addConstant(Dims{0, {}}, Weights{DataType::kINT32, &value, 1})->getOutput(0);
}

ITensor* real(INetworkDefinition& n, const Values& value, const std::vector<int>& sizes = {}) {
  return n.addConstant(dims_of(sizes), weights_of(value))->getOutput(0);
}

ITensor* combined(INetworkDefinition& n, ITensor& a, Op op, ITensor& b) {
  return n.addElementWise(a, b, op)->getOutput(0);
}

const Values kZero = {0}, kOne = {1}, kTwo = {2}, kTen = {10}, kZeros = {0, 0};
const int32_t kThree = 3, kFive = 5, kNothing = 0;

// state = 2 * state + row, over the rows of x.
struct Rows {
  Rows(INetworkDefinition& network, ITensor& x, bool reverse, const int32_t& rounds)
      : n(network), loop(n.addLoop()), count(integer(n, rounds)) {
    EXPECT_NE(loop->addTripLimit(*count, TripLimit::kCOUNT), nullptr);
    ITensor* row = loop->addIterator(x, 0, reverse)->getOutput(0);
    state = loop->addRecurrence(*real(n, kZeros, {2}));
    ITensor* doubled = combined(n, *state->getOutput(0), Op::kPROD, *real(n, kTwo, {1}));
    next = combined(n, *doubled, Op::kSUM, *row);
    state->setInput(1, *next);
  }
  INetworkDefinition& n;
  ILoop* loop;
  ITensor* count;
  IRecurrenceLayer* state;
  ITensor* next;
};

const std::vector<int> kRowSizes = {3, 2};
const Values kRowValues = {1, 10, 2, 20, 3, 30};

TEST(Loops, LastValueOfRows) {
  for (const bool reverse : {false, true}) {
    const Values found =
        layer_result(kRowSizes, kRowValues, [&](INetworkDefinition& n, ITensor& x) {
          Rows rows(n, x, reverse, kThree);
          ILoopOutputLayer* out =
              rows.loop->addLoopOutput(*rows.state->getOutput(0), LoopOutput::kLAST_VALUE);
          EXPECT_EQ(sizes_of(out->getOutput(0)->getDimensions()), (std::vector<int64_t>{2}));
          return out->getOutput(0);
        });
    EXPECT_EQ(found, reverse ? (Values{17, 170}) : (Values{11, 110}));
  }
}

// From the end, too: no row is there twice.
TEST(Loops, RoundsBeyondTheRowsFail) {
  for (const bool reverse : {false, true}) {
    Maker maker;
    INetworkDefinition& n = *maker.network;
    Rows rows(n, *n.addInput("x", DataType::kFLOAT, dims_of(kRowSizes)), reverse, kFive);
    ITensor* y =
        rows.loop->addLoopOutput(*rows.state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    y->setName("y");
    n.markOutput(*y);
    const Own<ICudaEngine> engine = maker.build();
    ASSERT_NE(engine, nullptr) << maker.logger.text;
    Own<IExecutionContext> context(engine->createExecutionContext());
    Values x = kRowValues, result(2);
    context->setTensorAddress("x", x.data());
    context->setTensorAddress("y", result.data());
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_TRUE(maker.logger.has("index 3 is outside")) << maker.logger.text;
  }
}

// What each round gives: by rounds ahead of the row's numbers, or behind; in order or not; with zeros where the length is greater.
TEST(Loops, ValuesOfAllRounds) {
  for (const bool reverse : {false, true}) {
    for (const int32_t axis : {0, 1}) {
      for (const int32_t* length : {&kThree, &kFive}) {
        const Values found =
            layer_result(kRowSizes, kRowValues, [&](INetworkDefinition& n, ITensor& x) {
              Rows rows(n, x, false, kThree);
              ILoopOutputLayer* out = rows.loop->addLoopOutput(
                  *rows.next, reverse ? LoopOutput::kREVERSE : LoopOutput::kCONCATENATE, axis);
              out->setInput(1, length == &kThree ? *rows.count : *integer(n, *length));
              const int64_t count = *length;
              EXPECT_EQ(
                  sizes_of(out->getOutput(0)->getDimensions()),
                  axis == 0 ? (std::vector<int64_t>{count, 2}) : (std::vector<int64_t>{2, count}));
              return out->getOutput(0);
            });
        const Values first = {1, 4, 11};
        Values line(static_cast<size_t>(*length));
        for (size_t i = 0; i < first.size(); ++i)
          line[reverse ? line.size() - 1 - i : i] = first[i];
        Values expected(line.size() * 2);
        for (size_t i = 0; i < line.size(); ++i) {
          expected[axis == 0 ? 2 * i : i] = line[i];
          expected[axis == 0 ? 2 * i + 1 : line.size() + i] = 10 * line[i];
        }
        EXPECT_EQ(found, expected) << reverse << " " << axis << " " << *length;
      }
    }
  }
}

// Engines know the type of what their loops give.
TEST(Loops, ValuesOfAllRoundsHaveTheirType) {
  for (const DataType type : {DataType::kINT32, DataType::kBOOL, DataType::kFLOAT}) {
    for (const bool reverse : {false, true}) {
      Maker maker;
      INetworkDefinition& n = *maker.network;
      ITensor* x = n.addInput("x", DataType::kFLOAT, dims_of(kRowSizes));
      Rows rows(n, *x, false, kThree);
      ITensor* value = n.addCast(*rows.next, type)->getOutput(0);
      ILoopOutputLayer* out = rows.loop->addLoopOutput(
          *value, reverse ? LoopOutput::kREVERSE : LoopOutput::kCONCATENATE, 1);
      out->setInput(1, *rows.count);
      ITensor* all = out->getOutput(0);
      all->setName("all");
      n.markOutput(*all);
      const Own<ICudaEngine> engine = maker.build();
      ASSERT_NE(engine, nullptr) << maker.logger.text;
      EXPECT_EQ(engine->getTensorDataType("all"), type);
    }
  }
}

TEST(Loops, NoRoundsLeaveWhatWasThere) {
  const Values found = layer_result(kRowSizes, kRowValues, [](INetworkDefinition& n, ITensor& x) {
    Rows rows(n, x, false, kNothing);
    return rows.loop->addLoopOutput(*rows.state->getOutput(0), LoopOutput::kLAST_VALUE)
        ->getOutput(0);
  });
  EXPECT_EQ(found, kZeros);
}

// Doubles x while it is below ten: the condition is computed of the recurrence, or is one itself. Ten and more stay.
TEST(Loops, WhileAConditionHolds) {
  for (const bool is_recurrence : {false, true}) {
    for (const bool with_count : {false, true}) {
      const auto doubled = [&](float start) {
        return layer_result({1}, {start}, [&](INetworkDefinition& n, ITensor& x) {
          ILoop* loop = n.addLoop();
          IRecurrenceLayer* state = loop->addRecurrence(x);
          ITensor* now = state->getOutput(0);
          ITensor* ten = real(n, kTen, {1});
          ITensor* next = combined(n, *now, Op::kPROD, *real(n, kTwo, {1}));
          state->setInput(1, *next);
          const auto is_below = [&](ITensor& value) {
            ITensor* below = combined(n, value, Op::kLESS, *ten);
            IShuffleLayer* scalar = n.addShuffle(*below);
            scalar->setReshapeDimensions(Dims{0, {}});
            return scalar->getOutput(0);
          };
          if (is_recurrence) {
            IRecurrenceLayer* goes_on = loop->addRecurrence(*is_below(x));
            goes_on->setInput(1, *is_below(*next));
            loop->addTripLimit(*goes_on->getOutput(0), TripLimit::kWHILE);
          } else {
            loop->addTripLimit(*is_below(*now), TripLimit::kWHILE);
          }
          if (with_count) loop->addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
          return loop->addLoopOutput(*now, LoopOutput::kLAST_VALUE)->getOutput(0);
        });
      };
      EXPECT_EQ(doubled(3), (Values{12}));
      EXPECT_EQ(doubled(1), (Values{with_count ? 8.0F : 16.0F}));
      EXPECT_EQ(doubled(11), (Values{11}));
    }
  }
}

// Each row's sum, by a loop in a loop whose own rounds depend on the outer one.
TEST(Loops, InsideOfALoop) {
  const Values found = layer_result(kRowSizes, kRowValues, [](INetworkDefinition& n, ITensor& x) {
    ILoop* outer = n.addLoop();
    ITensor* count = integer(n, kThree);
    outer->addTripLimit(*count, TripLimit::kCOUNT);
    ITensor* row = outer->addIterator(x)->getOutput(0);
    ILoop* inner = n.addLoop();
    static const int32_t two = 2;
    inner->addTripLimit(*integer(n, two), TripLimit::kCOUNT);
    ITensor* one = inner->addIterator(*row)->getOutput(0);
    IRecurrenceLayer* sum = inner->addRecurrence(*real(n, kZero));
    sum->setInput(1, *combined(n, *sum->getOutput(0), Op::kSUM, *one));
    ITensor* total =
        inner->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    ILoopOutputLayer* out = outer->addLoopOutput(*total, LoopOutput::kCONCATENATE);
    out->setInput(1, *count);
    return out->getOutput(0);
  });
  EXPECT_EQ(found, (Values{11, 22, 33}));
}

ITensor* is_positive(INetworkDefinition& n, ITensor& x) {
  ITensor* sum = n.addReduce(x, ReduceOperation::kSUM, 1, false)->getOutput(0);
  return combined(n, *sum, Op::kGREATER, *real(n, kZero));
}

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

TEST(Loops, SayWhatTheyAre) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{3, 2});
  ILoop* loop = n.addLoop();
  loop->setName("rows");
  EXPECT_STREQ(loop->getName(), "rows");
  ITripLimitLayer* limit = loop->addTripLimit(*integer(n, kThree), TripLimit::kCOUNT);
  EXPECT_EQ(limit->getTripLimit(), TripLimit::kCOUNT);
  EXPECT_EQ(limit->getNbOutputs(), 0);
  IIteratorLayer* iterator = loop->addIterator(*x, 1, true);
  EXPECT_EQ(iterator->getAxis(), 1);
  EXPECT_TRUE(iterator->getReverse());
  EXPECT_EQ(sizes_of(iterator->getOutput(0)->getDimensions()), (std::vector<int64_t>{3}));
  ILoopOutputLayer* out = loop->addLoopOutput(*iterator->getOutput(0), LoopOutput::kREVERSE, 1);
  EXPECT_EQ(out->getLoopOutput(), LoopOutput::kREVERSE);
  EXPECT_EQ(out->getAxis(), 1);
  EXPECT_EQ(out->getType(), LayerType::kLOOP_OUTPUT);
  for (const ILoopBoundaryLayer* layer :
       {static_cast<ILoopBoundaryLayer*>(limit), static_cast<ILoopBoundaryLayer*>(iterator),
        static_cast<ILoopBoundaryLayer*>(out)})
    EXPECT_EQ(layer->getLoop(), loop);
}

// Ranges and types that are asked for inside are told to have no effect; outside they have.
TEST(Loops, RangesAndTypesInsideAreTold) {
  Maker maker;
  INetworkDefinition& n = *maker.network;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims2{3, 2});
  const Rows rows(n, *x, false, kThree);
  ITensor* y =
      rows.loop->addLoopOutput(*rows.state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  n.markOutput(*n.addIdentity(*y)->getOutput(0));
  maker.config->setFlag(BuilderFlag::kINT8);
  maker.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  for (ITensor* tensor : {x, y, rows.next}) EXPECT_TRUE(tensor->setDynamicRange(-200, 200));
  for (int32_t i = 0; i < n.getNbLayers(); ++i)
    if (n.getLayer(i)->getType() == LayerType::kELEMENTWISE)
      n.getLayer(i)->setPrecision(DataType::kFLOAT);
  const Own<ICudaEngine> engine = maker.build();
  ASSERT_NE(engine, nullptr) << maker.logger.text;
  EXPECT_TRUE(maker.logger.has("and others inside of loops and conditions is not taken there"));
  EXPECT_TRUE(maker.logger.has("inside of loops and conditions have types of their own asked for"));
  EXPECT_EQ(run(*engine, kRowValues), (Values{11, 110}));
}

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
