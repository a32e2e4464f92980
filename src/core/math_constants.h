// SPDX-License-Identifier: Apache-2.0
// Coefficients of core/math.h, shared by its scalar and SIMD versions. The polynomials are minimax fits of our own, made
// in extended precision with each coefficient rounded to f32 before the next is fitted. Plain C declarations of internal
// linkage only: instruction-set files include this.
#pragma once

// exp: x = n ln2 + r, exp(r) = 1 + r + r^2 p(r), |r| <= ln2 / 2. Adding kRoundMagic rounds to an integer, ties to even.
static const float kLog2e = 0x1.715476p+0f;
static const float kLn2Hi = 0x1.62e400p-1f;  // 15 bits: n * kLn2Hi is exact
static const float kLn2Lo = 0x1.7f7d1cp-20f;
static const float kRoundMagic = 0x1.8p+23f;
static const float kExpMax = 89.0f;    // exp overflows below this
static const float kExpMin = -104.0f;  // and is less than half the least denormal here
static const float kExpPoly[5] = {0x1.000000p-1f, 0x1.555490p-3f, 0x1.5554c2p-5f, 0x1.123adap-7f,
                                  0x1.6d7810p-10f};

// log: x = m 2^e, sqrt(1/2) <= m < sqrt 2, f = m - 1, s = f / (2 + f), log(m) = 2 s + s^3 p(s^2).
static const int kSqrtHalfBits = 0x3f3504f3;
static const float kLogPoly[4] = {0x1.555554p-1f, 0x1.999c26p-2f, 0x1.23d3d6p-2f, 0x1.f13e66p-3f};

// tanh: x + x^3 p(x^2) below kTanhSplit, else 1 - 2 / (exp(2 |x|) + 1), which is 1 from kTanhMax on.
static const float kTanhSplit = 0.625f;
static const float kTanhMax = 10.0f;
static const float kTanhPoly[6] = {-0x1.555554p-2f, 0x1.11107cp-3f,  -0x1.b9f212p-5f,
                                   0x1.63abd6p-6f,  -0x1.0c801ep-7f, 0x1.1aa266p-9f};

// erf: x + x p(x^2) below kErfSplit, else 1 - exp(q(|x|)), which is 1 from kErfMax on.
static const float kErfSplit = 0.921875f;
static const float kErfMax = 4.0f;
static const float kErfSmallPoly[7] = {0x1.06eba8p-3f,  -0x1.812740p-2f, 0x1.ce2d64p-4f,
                                       -0x1.b8011ap-6f, 0x1.544a1ap-8f,  -0x1.a60a2ep-11f,
                                       0x1.4f675ep-14f};
static const float kErfLargePoly[8] = {0x1.6b502ap-13f, -0x1.212772p+0f, -0x1.4447cep-1f,
                                       -0x1.bb74cap-4f, 0x1.9b686cp-6f,  -0x1.11228cp-8f,
                                       0x1.c6dcc4p-12f, -0x1.60f89ep-16f};

static const float kSqrtHalf = 0x1.6a09e6p-1f;
static const float kSqrt2OverPi = 0x1.988454p-1f;
static const float kGeluCubic = 0.044715f;
