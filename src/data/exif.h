// SPDX-License-Identifier: Apache-2.0
// How a camera says that its image is to be turned: EXIF's orientation, in JPEG, PNG and WebP files.
#pragma once

#include <span>

#include "core/types.h"
#include "data/image.h"

namespace octet {

// 1 (as it lies) to 8; 1 for files that say nothing, or nothing that can be read: any bytes will do.
int exif_orientation(std::span<const u8> bytes);

// The image turned and mirrored so that it stands as `orientation` means it.
Image turned(Image image, int orientation);

}  // namespace octet
