#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images per second of a whole machine: Octet as processes, as streams and with batches, and its peers, on the same Q/DQ models.

Networks have generated weights, so nothing but this folder, the octet program and the Python packages onnx, onnxruntime and numpy is needed;
openvino where it is installed.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def own_python():
    """Starts this script again with the Python of ./dev setup where this one lacks the packages."""
    python = ROOT / ".venv" / "bin" / "python"
    if python.exists() and pathlib.Path(sys.prefix) != ROOT / ".venv":
        os.execv(python, [str(python), *sys.argv])
    sys.exit("throughput.py needs the Python packages onnx, onnxruntime and numpy (./dev setup)")


try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401  the quantizer
except ImportError:
    own_python()

sys.path.insert(0, str(HERE))
import detectors  # noqa: E402
import generated  # noqa: E402
import quantize  # noqa: E402
import rewrite  # noqa: E402
import runners  # noqa: E402

NETWORKS = {"resnet50_shaped": (generated.MODELS["resnet50"], 224), "mobilenet_v2": (generated.MODELS["mobilenet_v2"], 224),
            "yolox_nano": (detectors.MODELS["yolox_nano"], 416), "retinaface": (detectors.MODELS["retinaface"], 640)}
CALIBRATION_IMAGES = 4


class Network:
    """The files of one network: Q/DQ models and engines for one image and for a batch."""

    def __init__(self, args, name):
        self.args, self.name = args, name
        self.make, self.size = NETWORKS[name]
        args.work.mkdir(parents=True, exist_ok=True)

    def path(self, kind, batch):
        return self.args.work / f"{self.name}.b{batch}.{kind}"

    def model(self, batch):
        path = self.path("qdq.onnx", batch)
        if path.exists():
            return path
        if batch != 1:
            onnx.save(rewrite.rebatch(onnx.load(str(self.model(1))), batch), str(path))
            return path
        model = self.make()
        rewrite.fix_shape(model, [1, 3, self.size, self.size])
        onnx.save(onnx.shape_inference.infer_shapes(model), str(self.path("onnx", 1)))
        random = np.random.default_rng(1)
        images = [random.random((1, 3, self.size, self.size), np.float32) for _ in range(CALIBRATION_IMAGES)]
        quantize.quantize_over(self.path("onnx", 1), path, images)
        return path

    def engine(self, batch):
        path = self.path("octet", batch)
        runners.octet_build(self.args.octet, self.model(batch), path, ["--int8"])
        return path


def octet(args, engine, *flags):
    return [args.octet, "bench", str(engine), "--json", "--seconds", str(args.seconds), *map(str, flags)]


def throughput(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(runners.last_line(done.stderr))
    return json.loads(done.stdout)["throughput"]


def octet_processes(args, engine):
    """One process of one thread on each CPU."""
    processes = []
    for cpu in args.cpus:
        with runners.pinned({cpu}):
            processes.append(subprocess.Popen(octet(args, engine, "--threads", 1), stdout=subprocess.PIPE, text=True))
    return sum(json.loads(process.communicate()[0])["throughput"] for process in processes)


class Peer:
    """Processes of a peer that wait between their turns: one on all CPUs, or one on each."""

    def __init__(self, args, runtime, model):
        places = [{cpu} for cpu in args.cpus] if runtime == "onnxruntime" else [set(args.cpus)]
        self.processes = []
        for cpus in places:
            with runners.pinned(cpus):
                self.processes.append(subprocess.Popen(
                    [sys.executable, str(HERE / "throughput_peer.py"), runtime, str(model)], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        for process in self.processes:
            self.read(process)

    @staticmethod
    def read(process):
        answer = json.loads(process.stdout.readline() or '{"error": "the process ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def measure(self, seconds):
        for process in self.processes:
            process.stdin.write(f"{seconds}\n")
            process.stdin.flush()
        return sum(self.read(process)["throughput"] for process in self.processes)

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()


def measure_peer(args, runtime, model):
    peer = Peer(args, runtime, model)
    try:
        return statistics.median(peer.measure(args.seconds) for _ in range(args.rounds))
    finally:
        peer.close()


def measure(args, name):
    network, count = Network(args, name), len(args.cpus)
    one, many = network.engine(1), network.engine(count)
    ways = {"octet_processes": lambda: octet_processes(args, one),
            "octet_streams": lambda: throughput(octet(args, one, "--streams", count)),
            "octet_batch": lambda: throughput(octet(args, many, "--threads", count))}
    rounds = {way: [] for way in ways}
    for _ in range(args.rounds):  # in turns
        for way, run in ways.items():
            rounds[way].append(run())
    row = {"name": name, **{way: round(statistics.median(values), 1) for way, values in rounds.items()}, "peers": {},
           "rounds": {way: [round(value, 1) for value in values] for way, values in rounds.items()}, "failed": {}}
    for runtime in args.peers:
        try:
            row["peers"][runtime] = round(measure_peer(args, runtime, network.model(1)), 1)
        except (RuntimeError, OSError) as error:
            row["failed"][runtime] = str(error)
    return row


def report_of(args, rows):
    def ratios(key, other):
        return runners.geomean([row[key] / other(row) for row in rows if other(row)])
    best = {way: ratios(way, lambda row: row["peers"].get("openvino")) for way in ("octet_streams", "octet_batch")}
    return {"cpus": len(args.cpus), "seconds": args.seconds, "versions": runners.versions(args), "networks": rows,
            "streams_over_processes": ratios("octet_streams", lambda row: row["octet_processes"]),
            "batch_over_processes": ratios("octet_batch", lambda row: row["octet_processes"]), "over_openvino": best}


def print_table(report):
    ways = ("octet_processes", "octet_streams", "octet_batch")
    print("| network | " + " | ".join(ways) + " | " + "openvino | onnxruntime |\n|" + "---|" * 6)
    for row in report["networks"]:
        cells = [f"{row[way]:.0f}" for way in ways]
        cells += [f"{row['peers'][peer]:.0f}" if peer in row["peers"] else "-" for peer in ("openvino", "onnxruntime")]
        print(f"| {row['name']} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--octet", default=str(ROOT / "build" / "release" / "octet"), help="the octet program [%(default)s]")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="[%(default)s]")
    parser.add_argument("--peers", default="openvino,onnxruntime", help="[%(default)s]")
    parser.add_argument("--cpus", type=int, help="how many CPUs [all of this process]")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="turns, whose median counts [%(default)s]")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "octet_throughput",
                        help="folder for models, which are kept [%(default)s]")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.cpus = sorted(os.sched_getaffinity(0))[:args.cpus]
    args.peers = [peer for peer in args.peers.split(",") if peer]
    rows = []
    for name in args.networks.split(","):
        rows.append(measure(args, name))
        runners.log(f"{name}: {rows[-1]}")
    report = report_of(args, rows)
    print(json.dumps(report, indent=1)) if args.json else print_table(report)


if __name__ == "__main__":
    main()
