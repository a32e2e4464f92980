// SPDX-License-Identifier: Apache-2.0
#include "runtime/queues.h"

namespace octet {

Queues::Queues(const Target& target)
    : host_(target.host->make_queue(target.threads)), alone_(target.host->make_queue(1)) {
  if (target.device != target.host) device_ = target.device->make_queue(target.threads);
}

}  // namespace octet
