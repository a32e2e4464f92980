# SPDX-License-Identifier: Apache-2.0
"""Octet on an NVIDIA GPU: device time of whole networks, from the input in the device's memory to the outputs there.

`ms` is the sum of the steps of one batch by the device's own clock (octet bench --layers), copies to and from the host left out; the
median of several runs. `stream_ms` is what a program sees whose data are on the device and which gives one batch behind the other (octet
bench --no-transfers); --sustained does that for so long, and samples clocks and power meanwhile. Engines are built on any machine beforehand (--prepare, which needs the benchmark's Python packages) and may be
carried to the one with the GPU, which needs nothing but the program:

    bench/gpu.py --prepare build/gpu
    bench/gpu.py --engines build/gpu --device cuda:0 --peers eager compiled --json
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORKS = {  # network of networks.py: batch sizes
    "resnet50_shaped": (256, 1), "resnet18_shaped": (256, 1), "mobilenet_v2_shaped": (256, 1),
    "retinaface": (32,), "yolox_nano": (32,), "yunet": (32,), "bert_alike_384": (32, 1),
    # Not timed: tests/gpu/run compares their outputs with the CPU's.
    "mobilenet_v2": (), "squeezenet": (), "cifar10_resnet20": (), "cifar10_silunet": (), "cifar10_vit": (),
}
IMAGES = 4  # of each network, beside its engine
COPIES = ("copy_to_device", "copy_to_host", "copy_on_device")


def calibration(args, network):
    if network.data:
        height, width = network.size
        return ["--calib", pathlib.Path(args.data) / network.data, "--max-samples", "64", "--resize", f"{width}x{height}"]
    import bert
    import numpy as np

    arrays = args.prepare / f"{network.name}.npz"
    feeds = list(bert.calibration())
    np.savez(arrays, **{name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]})
    return ["--calib", arrays]


def prepare(args):
    """An engine of each network, whose first dimension is free where the model allows it, and some of its images."""
    import networks as nets
    import onnx

    args.prepare.mkdir(parents=True, exist_ok=True)
    for network in (*nets.NETWORKS, *nets.PACKABLE):
        target = args.prepare / f"{network.name}.octet"
        if network.name not in NETWORKS or target.exists():
            continue
        model = nets.load(network, args.models)
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = "N"
        del model.graph.value_info[:]
        source = args.prepare / f"{network.name}.onnx"
        onnx.save(model, source)
        subprocess.run([args.program, "build", source, "--int8", *calibration(args, network), "--calib-method", "minmax", "--precision",
                        "*:int8", "--constraints", "prefer", "-o", target, "--force", "--quiet"], check=True)
        if not network.data:
            continue
        images = args.prepare / f"{network.name}.images"
        images.mkdir(exist_ok=True)
        for image in sorted(path for path in (pathlib.Path(args.data) / network.data).rglob("*") if path.is_file())[:IMAGES]:
            shutil.copy(image, images)


def clocks():
    asked = "clocks.sm,clocks.mem,power.draw,temperature.gpu"
    try:
        answer = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader,nounits"], capture_output=True, text=True,
                                check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return {}
    return dict(zip(("sm_mhz", "memory_mhz", "watts", "celsius"), (float(part) for part in answer.split(","))))


def device_ms(args, engine, batch):
    """Of each run: the steps on the device, and their floor by bytes, in milliseconds."""
    runs, layers = [], []
    for _ in range(args.runs):
        command = [args.program, "bench", engine, "--device", args.device, "--batch", str(batch), "--layers", "--seconds", str(args.seconds),
                   "--json"]
        if args.tuning:
            command += ["--tuning", args.tuning]
        layers = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["layers"]
        runs.append(sum(layer["microseconds"] for layer in layers if layer["kernel"] not in COPIES) / 1e3)
    return statistics.median(runs), layers


def stream_ms(args, engine, batch, seconds):
    """Of one batch whose data are on the device, in milliseconds; None where the program says that it cannot."""
    command = [args.program, "bench", engine, "--device", args.device, "--batch", str(batch), "--no-transfers", "--seconds", str(seconds), "--json"]
    if args.tuning:
        command += ["--tuning", args.tuning]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{engine.stem}, batch {batch}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return batch / json.loads(done.stdout)["throughput"] * 1e3


def sustained(args, engine, batch):
    """The same for args.sustained seconds, with the medians of clocks and power once it is warm."""
    samples, ended = [], threading.Event()

    def sample():
        while not ended.wait(1):
            samples.append(clocks())

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        ms = stream_ms(args, engine, batch, args.sustained)
    finally:
        ended.set()
        sampler.join()
    steady = [sample for sample in samples[len(samples) // 2:] if sample]
    if ms is None or not steady:
        return None
    return {"seconds": args.sustained, "ms": round(ms, 4), "images_per_s": round(batch / ms * 1e3, 1),
            "clocks": {name: statistics.median(sample[name] for sample in steady) for name in steady[0]}}


def peers(args):
    """What gpu_peers.py measures of PyTorch on this GPU: {(network, batch): {mode: milliseconds}}; nothing where it is not installed."""
    asked = [f"{name}:{batch}" for name, batches in NETWORKS.items() for batch in batches if (args.engines / f"{name}.octet").exists()]
    if not args.peers or not asked:
        return {}
    done = subprocess.run([args.python, ROOT / "bench/gpu_peers.py", *asked, "--modes", *args.peers, "--seconds", str(args.seconds)],
                          capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        figure = json.loads(line)
        found.setdefault((figure["name"], figure["batch"]), {})[f"pytorch_{figure['mode']}_fp16_ms"] = figure["ms"]
    return found


def measure(args):
    results, others = [], peers(args)
    for name, batches in NETWORKS.items():
        engine = args.engines / f"{name}.octet"
        for batch in batches if engine.exists() else ():
            try:
                ms, layers = device_ms(args, engine, batch)
            except subprocess.CalledProcessError as error:
                print(f"{name}, batch {batch}: {error.stderr.strip()}", file=sys.stderr)
                continue
            streamed = stream_ms(args, engine, batch, args.seconds)
            on_host = [layer["name"] for layer in layers if layer["device"] == "cpu" and layer["kernel"] not in COPIES]
            floor = sum(layer["floor_us"] for layer in layers) / 1e3
            results.append({"name": name, "batch": batch, "ms": round(ms, 4), "images_per_s": round(batch / ms * 1e3, 1),
                            "stream_ms": streamed and round(streamed, 4), "floor_ms": round(floor, 4), "peers": others.get((name, batch), {}), "layers_on_cpu": len(on_host), "clocks": clocks()})
            if args.sustained and batch == max(batches) and name in (args.networks or NETWORKS):
                results[-1]["sustained"] = sustained(args, engine, batch)
            if not args.json:
                print(f"{name:22} batch {batch:4} {ms:9.3f} ms {batch / ms * 1e3:12.0f} images/s, {len(on_host)} layers on the CPU")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/octet"))
    parser.add_argument("--prepare", type=pathlib.Path, metavar="FOLDER", help="build the engines into this folder, and end")
    parser.add_argument("--engines", type=pathlib.Path, default=ROOT / "build/gpu")
    parser.add_argument("--models", default=str(ROOT.parent / "shared/models"))
    parser.add_argument("--data", default=str(ROOT.parent / "shared/data"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--tuning", help="kernels as octet bench --tune measured them")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--sustained", type=float, default=0, metavar="SECONDS", help="and each network's largest batch for so long")
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, metavar="NAME", help="those that --sustained means; all, if none is named")
    parser.add_argument("--peers", nargs="*", choices=("eager", "compiled"), default=[], help="measure PyTorch in the same run")
    parser.add_argument("--python", default="python3", help="one that has PyTorch")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.prepare:
        return prepare(args)
    results = measure(args)
    if args.json:
        print(json.dumps({"device": args.device, "networks": results}, indent=2))
    return None


if __name__ == "__main__":
    sys.exit(main())
