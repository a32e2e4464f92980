// SPDX-License-Identifier: Apache-2.0
// How much one run may compute without kernels. docs/limits.md.
#pragma once

namespace octet {

// Elementary steps: about a nanosecond for one that moves a number, more for one that computes an exponential.
inline constexpr double kDefaultWorkLimit = 2e11;

// Of every run of the process: what passes it is refused, where sizes tell when it is planned, else before the node runs. 0: the default.
void set_work_limit(double steps);
double work_limit();

}  // namespace octet
