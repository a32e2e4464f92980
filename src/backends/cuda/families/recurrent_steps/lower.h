// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN, whose steps are taken in pieces.
#pragma once

#include "backends/cuda/lower/step.h"

namespace octet::cuda {

// What is made of the inputs of a piece takes so many bytes at most, or those of one step.
Offer offer_recurrent(const LowerRequest& request, s64 most_bytes);

}  // namespace octet::cuda
