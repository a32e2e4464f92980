// SPDX-License-Identifier: Apache-2.0
// Parts of loops and conditions that are made layer by layer.
#pragma once

#include "support.h"

namespace trt_test::control {

using Values = std::vector<float>;
using Op = ElementWiseOperation;

inline ITensor* integer(INetworkDefinition& n, const int32_t& value) {
  return n.addConstant(Dims{0, {}}, Weights{DataType::kINT32, &value, 1})->getOutput(0);
}

inline ITensor* real(INetworkDefinition& n, const Values& value,
                     const std::vector<int>& sizes = {}) {
  return n.addConstant(dims_of(sizes), weights_of(value))->getOutput(0);
}

inline ITensor* combined(INetworkDefinition& n, ITensor& a, Op op, ITensor& b) {
  return n.addElementWise(a, b, op)->getOutput(0);
}

inline const Values kZero = {0}, kOne = {1}, kTwo = {2}, kTen = {10}, kZeros = {0, 0};
inline const int32_t kThree = 3, kFive = 5, kNothing = 0;

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

inline const std::vector<int> kRowSizes = {3, 2};
inline const Values kRowValues = {1, 10, 2, 20, 3, 30};

inline ITensor* is_positive(INetworkDefinition& n, ITensor& x) {
  ITensor* sum = n.addReduce(x, ReduceOperation::kSUM, 1, false)->getOutput(0);
  return combined(n, *sum, Op::kGREATER, *real(n, kZero));
}

}  // namespace trt_test::control
