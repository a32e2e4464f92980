// SPDX-License-Identifier: Apache-2.0
// Loops that are made layer by layer.
#include "control_support.h"

namespace trt_test::control {
namespace {

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

}  // namespace
}  // namespace trt_test::control
