// SPDX-License-Identifier: Apache-2.0
#include "runtime/queues.h"

namespace octet {

Queues::Queues(const Target& target, std::shared_ptr<ThreadPool> pool)
    : pool_(std::move(pool)),
      host_(target.host->make_queue(pool_)),
      alone_(target.host->make_queue(std::make_shared<ThreadPool>(1))),
      pieces_(target.host->make_queue(pool_->with_whole_pieces())) {
  // Its steps may run while those of the host do.
  if (target.device != target.host)
    device_ = target.device->make_queue(std::make_shared<ThreadPool>(target.threads));
}

Queues::Queues(const Target& target)
    : Queues(target, std::make_shared<ThreadPool>(target.threads)) {}

}  // namespace octet
