// SPDX-License-Identifier: Apache-2.0
// Antialiased bilinear resize of 8-bit images, bit-equal to Pillow's Image.resize(size, BILINEAR) up to Pillow 12.
// (Pillow 13 runs the vertical pass first for some shapes, which moves pixels by 1.)
#pragma once

#include "data/image.h"

namespace octet {

Image resize_bilinear(Image src, int width, int height);

}  // namespace octet
