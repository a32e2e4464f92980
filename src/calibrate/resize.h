// SPDX-License-Identifier: Apache-2.0
// Antialiased bilinear resize of 8-bit images, bit-equal to Pillow's Image.resize(size, BILINEAR).
#pragma once

#include "calibrate/image.h"

namespace octet {

Image resize_bilinear(const Image& src, int width, int height);

}  // namespace octet
