#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""octet.ray.calibrate with 1, 2, 4 ... workers of one thread on this machine's cluster: images a second, and that the engine has the same bytes.

    bench/ray_scaling.py MODEL.onnx [--shape 3x224x224] [--images 192] [--workers 1,2,4]

The dataset lies in the cluster's memory before the time begins. What a pool takes to start is the time of a dataset of a block for each worker, and is
taken off. Workers beyond the machine's processors share them: there the processor time of all of the cluster's processes says what a worker more
costs, whatever else the machine does."""

import argparse
import hashlib
import os
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/integrations")]


class ProcessorTime:
    """Seconds of this process and of all below it so far; who has ended was looked at a moment before."""

    def __init__(self):
        self.seconds = {}
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        while True:
            self.look_once()
            time.sleep(0.05)

    def look_once(self):
        parents, now = {}, {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            pid = int(stat.parent.name)
            parents[pid], now[pid] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for pid, seconds in now.items():
            above = pid
            while above not in (0, os.getpid()):
                above = parents.get(above, 0)
            if above:
                self.seconds[pid] = seconds

    def total(self):
        self.look_once()
        return sum(self.seconds.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--shape", default="3x224x224", help="of an image")
    parser.add_argument("--images", type=int, default=192)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--workers", default="1,2,4")
    options = parser.parse_args()
    import rays
    rays.need()
    import numpy as np
    import ray

    import octet
    import octet.ray

    shape = [int(size) for size in options.shape.split("x")]
    counts = [int(count) for count in options.workers.split(",")]
    ray.init(num_cpus=max(counts) + 1, include_dashboard=False, log_to_driver=False)
    images = np.random.default_rng(1).random([options.images, *shape], dtype=np.float32)
    blocks = [images[i:i + options.batch] for i in range(0, options.images, options.batch)]
    data = ray.data.from_numpy(blocks).materialize()
    few = ray.data.from_numpy(blocks[:max(counts)]).materialize()
    print(f"{options.images} images of {options.shape}, {octet.__version__}")
    octet.ray.observe(few, options.model, workers=1, batch_size=options.batch)  # starts what the cluster has one of
    hashes, spent = set(), ProcessorTime()

    def measured(part, workers):
        start, before = time.perf_counter(), spent.total()
        seen = octet.ray.observe(part, options.model, workers=workers, batch_size=options.batch)
        return seen, time.perf_counter() - start, spent.total() - before

    for workers in counts:
        _, started, starting = measured(few, workers)
        seen, took, all_spent = measured(data, workers)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.octet"
            octet.compile(options.model, calibration=seen).save(path)
            hashes.add(hashlib.sha256(path.read_bytes()).hexdigest())
        others = (len(blocks) - max(counts)) * options.batch
        print(f"{workers} workers: {took:.1f} s, {started:.1f} s for the first {max(counts)} blocks; {others / (took - started):.1f} images/s of the others, "
              f"{1e3 * (all_spent - starting) / others:.1f} ms of a processor each", flush=True)
    print("one engine" if len(hashes) == 1 else "ENGINES DIFFER")
    return len(hashes) != 1


if __name__ == "__main__":
    sys.exit(main())
