// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp do together for matrices (abi.h: EmulatedMma, EmulatedMmaFloat, EmulatedLdmatrix).
#pragma once

namespace octet::emulator {

void mma(void** lanes, unsigned present);
void mma_m8n8k16(void** lanes, unsigned present);
void mma_float(void** lanes, unsigned present);
void mma_f16_m16n8k8(void** lanes, unsigned present);
float sum_of_16(bool f16, float sum, const unsigned short* a, const unsigned short* b);
void ldmatrix(void** lanes, unsigned present);

}  // namespace octet::emulator
