#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Octet against ONNX Runtime and OpenVINO on this CPU: one run, interleaved, pinned.

    bench/cpu.py --octet build/release/octet --models DIR --data DIR [--json]

Every runtime gets the same Q/DQ model. The runtimes take turns for several rounds, so a busy
machine slows all of them alike; a figure is the median of the rounds. See bench/README.md.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import networks as nets  # noqa: E402
import quantize  # noqa: E402

OCTET_QDQ, ORT_QDQ, OPENVINO_QDQ = "octet_qdq", "onnxruntime_qdq", "openvino_qdq"
OCTET_INT8, OCTET_FP32, ORT_FP32 = "octet_int8", "octet_fp32", "onnxruntime_fp32"
PEERS = (ORT_QDQ, OPENVINO_QDQ)  # what Octet on the same Q/DQ model is held against
RUNNERS = (OCTET_QDQ, ORT_QDQ, OPENVINO_QDQ, OCTET_INT8, OCTET_FP32, ORT_FP32)


def log(text):
    print(text, file=sys.stderr, flush=True)


def pin(cpus):
    return lambda: os.sched_setaffinity(0, cpus)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


class Times(typing.NamedTuple):
    """One round of one runtime, ms; processor time is that of all its threads, which other programs do not stretch."""

    median: float
    fastest: float
    processor: float


class OctetRunner:
    """`octet bench` is one process per measurement: load, plan, warm up, measure."""

    def __init__(self, octet, engine, threads, cpus):
        self.command = [octet, "bench", str(engine), "--json", "--threads", str(threads)]
        self.cpus = cpus

    def measure(self, seconds):
        done = subprocess.run([*self.command, "--seconds", str(seconds)], capture_output=True,
                              text=True, preexec_fn=pin(self.cpus))
        if done.returncode != 0:
            raise RuntimeError(last_line(done.stderr))
        report = json.loads(done.stdout)
        latency, processor = report["latency_ms"], report["processor_ms"]
        return Times(latency["median"], latency["min"], processor["median"])

    def close(self):
        pass


class PeerRunner:
    """A peer lives in one process that waits between its turns."""

    def __init__(self, runtime, model, threads, cpus, shapes=()):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "peer.py"), runtime, str(model), str(threads), *shapes],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            preexec_fn=pin(cpus))
        try:
            self.read()
        except RuntimeError:
            self.close()
            raise

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with status {self.process.wait()}")
        value = json.loads(line)
        if "error" in value:
            raise RuntimeError(value["error"])
        return value

    def measure(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        answer = self.read()
        return Times(answer["ms"], answer["min_ms"], answer["processor_ms"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@dataclasses.dataclass
class Files:
    """What one network at one batch size is measured from; a missing one has its reason."""

    paths: dict
    failed: dict


def octet_build(args, model, engine, extra):
    done = subprocess.run([args.octet, "build", str(model), "-o", str(engine), "--quiet", *extra],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr))


def calibration_flags(network, folder):
    height, width = network.size
    return ["--int8", "--calib", str(folder), "--max-calib", str(quantize.IMAGES), "--resize",
            f"{width}x{height}", "--color", network.color, "--scale", str(network.scale), "--mean",
            ",".join(map(str, network.mean)), "--std", ",".join(map(str, network.std))]


def prepare(args, network, batch):
    """Float model, Q/DQ model and engines in the work folder; models are made once, engines anew."""
    stem = args.work / f"{network.name}.b{batch}"
    float_model, qdq_model = stem.with_suffix(f".b{batch}.onnx"), stem.with_suffix(f".b{batch}.qdq.onnx")
    data = pathlib.Path(args.data) / network.data
    files = Files({}, {})

    def step(keys, path, make):
        try:
            make()
            files.paths.update({key: path for key in keys})
        except Exception as error:  # the reason goes into the report
            files.failed.update({key: last_line(str(error)) for key in keys})
        return keys[0] in files.paths

    def make_float():
        if not float_model.exists():
            nets.onnx.save(nets.load(network, args.models, batch), str(float_model))

    def make_qdq():
        if not qdq_model.exists():
            quantize.quantize(float_model, qdq_model, network, data, batch)

    if not step([ORT_FP32], float_model, make_float):
        files.failed = {key: "no float model: " + files.failed[ORT_FP32] for key in RUNNERS}
        return files
    engines = {key: stem.with_suffix(f".b{batch}.{key}.octet")
               for key in (OCTET_QDQ, OCTET_INT8, OCTET_FP32)}
    if step([ORT_QDQ, OPENVINO_QDQ], qdq_model, make_qdq):
        step([OCTET_QDQ], engines[OCTET_QDQ],
             lambda: octet_build(args, qdq_model, engines[OCTET_QDQ], ["--int8"]))
    else:
        files.failed[OCTET_QDQ] = files.failed[ORT_QDQ]
    step([OCTET_INT8], engines[OCTET_INT8],
         lambda: octet_build(args, float_model, engines[OCTET_INT8], calibration_flags(network, data)))
    step([OCTET_FP32], engines[OCTET_FP32],
         lambda: octet_build(args, float_model, engines[OCTET_FP32], []))
    return files


def start(args, files, threads):
    """Every runtime that can run the network, ready; the others with their reasons."""
    cpus = set(sorted(os.sched_getaffinity(0))[:threads])
    runners, failed = {}, dict(files.failed)
    for key in RUNNERS:
        if key not in files.paths:
            continue
        try:
            if key.startswith("octet"):
                runners[key] = OctetRunner(args.octet, files.paths[key], threads, cpus)
            else:
                runners[key] = PeerRunner(key.rsplit("_", 1)[0], files.paths[key], threads, cpus)
        except RuntimeError as error:
            failed[key] = str(error)
    return runners, failed


def take_turns(args, runners, failed):
    """The rounds: each runtime measures for a moment, then the next; a failure leaves a reason."""
    times = {key: [] for key in runners}
    for _ in range(args.rounds):
        for key in [key for key in runners if key not in failed]:
            try:
                times[key].append(runners[key].measure(args.seconds))
            except (RuntimeError, OSError) as error:
                failed[key] = str(error)
    for runner in runners.values():
        runner.close()
    return {key: values for key, values in times.items() if key not in failed}


def float_layers(args, engine):
    """Layers of an engine that are not INT8, with reasons, and the coverage."""
    done = subprocess.run([args.octet, "inspect", str(engine), "--json"], capture_output=True,
                          text=True)
    if done.returncode != 0:
        return {"error": last_line(done.stderr)}
    report = json.loads(done.stdout)
    layers = [{k: layer[k] for k in ("name", "op", "precision", "reason", "macs")}
              for layer in report["layers"] if layer["precision"] != "int8"]
    return {"coverage": report["coverage"], "float_layers": layers}


def ratio(times):
    """The best peer's time over Octet's on the same Q/DQ model."""
    peers = [times[key] for key in PEERS if key in times]
    return round(min(peers) / times[OCTET_QDQ], 3) if peers and OCTET_QDQ in times else None


def measure_network(args, network, files, threads, batch):
    runners, failed = start(args, files, threads)
    times = take_turns(args, runners, failed)
    rounds = {key: [value.median for value in values] for key, values in times.items()}
    ms = {key: round(statistics.median(values), 4) for key, values in rounds.items()}
    fastest = {key: round(min(value.fastest for value in values), 4) for key, values in times.items()}
    row = {"name": network.name, "threads": threads, "batch": batch, "octet_ms": ms.get(OCTET_QDQ),
           "octet_int8_ms": ms.get(OCTET_INT8), "octet_fp32_ms": ms.get(OCTET_FP32),
           "onnxruntime_fp32_ms": ms.get(ORT_FP32),
           "median_ms": ms, "peers": {key: ms[key] for key in PEERS if key in ms},
           "ratio_to_best": ratio(ms), "fastest_ms": fastest, "ratio_of_fastest": ratio(fastest),
           "spread_ms": {key: [round(min(v), 4), round(max(v), 4)] for key, v in rounds.items()},
           "failed": failed}
    if OCTET_QDQ in files.paths:
        row["octet_qdq"] = float_layers(args, files.paths[OCTET_QDQ])
    return row


def versions(args):
    from importlib import metadata
    octet = subprocess.run([args.octet, "--version"], capture_output=True, text=True)
    found = {"octet": octet.stdout.strip(), "python": platform.python_version()}
    for name in ("onnxruntime", "openvino", "onnx", "numpy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def geomean(values):
    values = [value for value in values if value]
    return round(math.exp(statistics.fmean(map(math.log, values))), 3) if values else None


def cell(row, key):
    if key not in row["median_ms"]:
        return "failed"
    low, high = row["spread_ms"][key]
    return f"{row['median_ms'][key]:.2f} ({low:.2f}-{high:.2f})"


def print_table(report):
    """Markdown, as it goes into docs/performance.md."""
    titles = ("Octet Q/DQ", "ONNX Runtime Q/DQ", "OpenVINO Q/DQ", "Octet INT8", "Octet FP32",
              "ONNX Runtime FP32")
    print("| network | threads | batch | " + " | ".join(titles) +
          " | best peer / Octet | of fastest runs |")
    print("|---|---|---|" + "---|" * (len(titles) + 2))
    for row in report["networks"]:
        cells = [cell(row, key) for key in RUNNERS]
        cells += [str(row[key] or "-") for key in ("ratio_to_best", "ratio_of_fastest")]
        print(f"| {row['name']} | {row['threads']} | {row['batch']} | " + " | ".join(cells) + " |")
    print(f"\nGeometric mean of best peer / Octet: {report['geomean_ratio_to_best']}, "
          f"of the fastest runs: {report['geomean_ratio_of_fastest']}")
    for row in report["networks"]:
        for key, reason in row["failed"].items():
            print(f"* {row['name']}, {row['threads']} threads, {key}: {reason}")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--octet", required=True, help="the octet program")
    parser.add_argument("--models", required=True, help="folder of .onnx or .onnx.xz files")
    parser.add_argument("--data", required=True, help="folder with calibration images")
    parser.add_argument("--networks", help="names, separated by commas [all]")
    parser.add_argument("--threads", default="1,2", help="thread counts [1,2]")
    parser.add_argument("--batch", default="1", help="batch sizes [1]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="per runtime and round")
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "octet_bench",
                        help="folder where prepared models are kept")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    known = {network.name: network for network in nets.NETWORKS}
    names = args.networks.split(",") if args.networks else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(known)}")
    args.networks = [known[name] for name in names]
    args.octet = str(pathlib.Path(args.octet).resolve())
    args.work.mkdir(parents=True, exist_ok=True)
    return args


def main():
    args = parse_args()
    rows = []
    for batch in map(int, args.batch.split(",")):
        for network in args.networks:
            files = prepare(args, network, batch)
            for threads in map(int, args.threads.split(",")):
                log(f"{network.name}: batch {batch}, {threads} threads")
                rows.append(measure_network(args, network, files, threads, batch))
                log(f"  {json.dumps({k: v for k, v in rows[-1].items() if k != 'octet_qdq'})}")
    report = {"versions": versions(args), "rounds": args.rounds, "seconds": args.seconds,
              "networks": rows,
              "geomean_ratio_to_best": geomean([row["ratio_to_best"] for row in rows]),
              "geomean_ratio_of_fastest": geomean([row["ratio_of_fastest"] for row in rows])}
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        print_table(report)


if __name__ == "__main__":
    main()
