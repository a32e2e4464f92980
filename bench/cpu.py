#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Octet against ONNX Runtime and OpenVINO on this CPU: one run, interleaved, pinned.

    bench/cpu.py --octet build/release/octet --models DIR --data DIR [--json]

Every runtime gets the same Q/DQ model. The runtimes take turns for several rounds, so a busy
machine slows all of them alike; a figure is the median of the rounds, beside it the fastest run and
processor time, which other programs do not stretch. See bench/README.md.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import networks as nets  # noqa: E402
import prepare  # noqa: E402
import runners  # noqa: E402
import table  # noqa: E402
from prepare import OCTET_BEFORE, OCTET_FP32, OCTET_INT8, OCTET_QDQ, ORT_FP32, PEERS, RUNNERS  # noqa: E402
from runners import geomean, log  # noqa: E402


def start(args, files, threads):
    """Every runtime that can run the network, ready; the others with their reasons."""
    cpus = runners.cpus_for(threads)
    ready, failed = {}, dict(files.failed)
    for key, path in files.paths.items():
        try:
            if key.startswith("octet"):
                program = args.against if key == OCTET_BEFORE else args.octet
                ready[key] = runners.OctetRunner(program, path, threads, cpus)
            else:
                ready[key] = runners.PeerRunner(key.rsplit("_", 1)[0], path, threads, cpus)
        except (RuntimeError, OSError) as error:
            failed[key] = str(error)
    return ready, failed


def octet_json(args, *command):
    done = subprocess.run([args.octet, *command, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": runners.last_line(done.stderr)}
    return json.loads(done.stdout)


def float_layers(args, engine):
    """Layers of an engine that are not INT8, with reasons, and the coverage."""
    report = octet_json(args, "inspect", str(engine))
    if "error" in report:
        return report
    layers = [{k: layer[k] for k in ("name", "op", "precision", "reason", "macs")}
              for layer in report["layers"] if layer["precision"] != "int8"]
    return {"coverage": report["coverage"], "float_layers": layers}


def layer_times(args, engine, threads):
    """Every layer's time and floor, microseconds."""
    with runners.pinned(runners.cpus_for(threads)):
        report = octet_json(args, "bench", str(engine), "--layers", "--threads", str(threads))
    if "error" in report:
        return report
    times = [{k: layer[k] for k in ("name", "kernel", "microseconds", "floor_us")} for layer in report["layers"]]
    return {"sum_us": round(sum(t["microseconds"] for t in times), 1),
            "floor_us": round(sum(t["floor_us"] for t in times), 1), "layers": times}


def ratio(times):
    """The best peer's time over Octet's on the same Q/DQ model."""
    peers = [times[key] for key in PEERS if key in times]
    return round(min(peers) / times[OCTET_QDQ], 3) if peers and OCTET_QDQ in times else None


def ratio_to_before(times):
    """The older program's time over the new one's."""
    return round(times[OCTET_BEFORE] / times[OCTET_QDQ], 3) if {OCTET_BEFORE, OCTET_QDQ} <= times.keys() else None


def measure_network(args, network, files, threads, batch):
    ready, failed = start(args, files, threads)
    times = runners.take_turns(args, ready, failed)
    rounds = {key: [value.median for value in values] for key, values in times.items()}
    ms = {key: round(statistics.median(values), 4) for key, values in rounds.items()}
    fastest = {key: round(min(value.fastest for value in values), 4) for key, values in times.items()}
    processor = {key: round(min(value.processor for value in values), 4) for key, values in times.items()}
    row = {"name": network.name, "threads": threads, "batch": batch, "octet_ms": ms.get(OCTET_QDQ),
           "octet_int8_ms": ms.get(OCTET_INT8), "octet_fp32_ms": ms.get(OCTET_FP32),
           "onnxruntime_fp32_ms": ms.get(ORT_FP32),
           "median_ms": ms, "peers": {key: ms[key] for key in PEERS if key in ms},
           "ratio_to_best": ratio(ms), "fastest_ms": fastest, "ratio_of_fastest": ratio(fastest),
           "processor_ms": processor, "ratio_of_processor": ratio(processor),
           "ratio_to_before": ratio_to_before(ms), "ratio_of_fastest_to_before": ratio_to_before(fastest),
           "spread_ms": {key: [round(min(v), 4), round(max(v), 4)] for key, v in rounds.items()},
           "memory_mib": {key: ready[key].memory_mib for key in times},
           "first_result_ms": {key: ready[key].first_result_ms for key in times},
           "octet_start_ms": ready[OCTET_QDQ].start_ms if OCTET_QDQ in times else None,
           "build_s": files.builds, "failed": failed}
    if OCTET_QDQ in times and args.layers:
        row["layers"] = layer_times(args, files.paths[OCTET_QDQ], threads)
    if OCTET_QDQ in times:
        row["octet_qdq"] = float_layers(args, files.paths[OCTET_QDQ])
    return row


def summary(row):
    """A line of progress."""
    times = ", ".join(f"{key} {ms:.2f}" for key, ms in row["median_ms"].items())
    return f"  {times} ms; best peer / Octet {row['ratio_to_best']}, before / now {row['ratio_to_before']}"


def report_of(args, rows, missed):
    report = {"versions": runners.versions(args), "rounds": args.rounds, "seconds": args.seconds,
              "networks": rows,
              "geomean_ratio_to_best": geomean([row["ratio_to_best"] for row in rows]),
              "geomean_ratio_of_fastest": geomean([row["ratio_of_fastest"] for row in rows]),
              "geomean_ratio_of_processor": geomean([row["ratio_of_processor"] for row in rows]),
              "geomean_to_before": geomean([row["ratio_to_before"] for row in rows]),
              "geomean_of_fastest_to_before": geomean([row["ratio_of_fastest_to_before"] for row in rows]),
              "geomeans": [{"threads": threads, "batch": batch, "ratio_to_best": geomean(
                  [row["ratio_to_best"] for row in rows if (row["threads"], row["batch"]) == (threads, batch)])}
                  for batch in args.batch for threads in args.threads]}
    if missed:
        report["not_measured"] = missed
    return report


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    runners.add_program_flags(parser)
    parser.add_argument("--models", default="", help="folder of .onnx or .onnx.xz files")
    parser.add_argument("--data", default="", help="folder with calibration images")
    parser.add_argument("--networks", help="names, separated by commas [all]")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="thread counts [1,2]")
    parser.add_argument("--batch", "--batches", type=numbers, default=[1], help="batch sizes [1]")
    parser.add_argument("--runners", default=",".join(RUNNERS), help="[%(default)s]")
    runners.add_turn_flags(parser)
    parser.add_argument("--work", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "octet_bench",
                        help="folder where prepared models are kept; what is there is used as it is")
    parser.add_argument("--jobs", type=int, default=1, help="networks prepared at a time [1]")
    parser.add_argument("--prepare-only", action="store_true", help="make the files and stop")
    parser.add_argument("--layers", action="store_true", help="also every layer against its floor")
    parser.add_argument("--build-images", type=int, default=0, metavar="N",
                        help="also the time to build resnet50_shaped with N images")
    parser.add_argument("--deadline", type=float, default=1e9, metavar="SECONDS",
                        help="measure no further network after so long, and report the rest as not measured")
    parser.add_argument("--save", type=pathlib.Path, help="write the report here after every network")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.networks = chosen(parser, args.networks, {network.name: network for network in nets.NETWORKS})
    args.runners = chosen(parser, args.runners, {key: key for key in RUNNERS})
    if args.against is None:
        args.runners = [key for key in args.runners if key != OCTET_BEFORE]
    args.work.mkdir(parents=True, exist_ok=True)
    return args


def chosen(parser, text, known):
    names = text.split(",") if text else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names]


def prepare_all(args):
    """Files of every network and batch size. Networks may be prepared side by side, their batch sizes not: they share models."""
    def batches(network):
        made = {batch: prepare.prepare(args, network, batch) for batch in args.batch}
        log(f"{network.name}: prepared")
        return made

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        return dict(zip([network.name for network in args.networks], pool.map(batches, args.networks)))


def main():
    args = parse_args()
    begin = time.monotonic()
    files = prepare_all(args)
    if args.prepare_only:
        for name, batches in files.items():
            for batch, made in batches.items():
                for key, reason in made.failed.items():
                    log(f"{name}, batch {batch}, {key}: {reason}")
        return
    rows, missed = [], []
    cases = [(batch, network, threads) for batch in args.batch for network in args.networks
             for threads in args.threads]
    for batch, network, threads in cases:
        case = f"{network.name}: batch {batch}, {threads} threads"
        if time.monotonic() - begin > args.deadline:
            missed.append(case)
            continue
        log(case)
        rows.append(measure_network(args, network, files[network.name][batch], threads, batch))
        log(summary(rows[-1]))
        if args.save:
            args.save.write_text(json.dumps(report_of(args, rows, missed), indent=1))
    report = report_of(args, rows, missed)
    if args.build_images:
        network = next(network for network in nets.NETWORKS if network.name == "resnet50_shaped")
        report["build"] = prepare.timed_build(args, network, args.build_images)
    if args.save:
        args.save.write_text(json.dumps(report, indent=1))
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        table.print_all(report)


if __name__ == "__main__":
    main()
