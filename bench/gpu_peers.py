# SPDX-License-Identifier: Apache-2.0
"""PyTorch beside Octet on the same GPU: the same networks with random weights, fp16, channels-last, as a CUDA graph, eager or compiled.

Times are those of a graph's replays by the device's clock, the input in the device's memory; the median of the rounds. Networks are
torchvision's, and an encoder of BERT's shape. Prints one line of JSON for each figure, as it comes:

    python3 bench/gpu_peers.py resnet50_shaped:256 bert_alike_384:32 --modes eager compiled
"""

import argparse
import json
import statistics
import sys
import time

MODES = ("eager", "compiled")
TOKENS, HIDDEN, HEADS, FFN, LAYERS = 384, 768, 12, 3072, 12


def vision(name):
    def make(torch, batch):
        import torchvision

        model = getattr(torchvision.models, name)(weights=None).to(memory_format=torch.channels_last)
        image = torch.randn(batch, 3, 224, 224, dtype=torch.float16, device="cuda")
        return model, {"x": image.to(memory_format=torch.channels_last)}

    return make


def bert(torch, batch):
    """bert.py's encoder, attention as PyTorch fuses it."""
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.projections = nn.ModuleList(nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
            self.out, self.up, self.down = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, FFN), nn.Linear(FFN, HIDDEN)
            self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN, eps=1e-12) for _ in range(2))

        def forward(self, x):
            heads = [project(x).view(batch, TOKENS, HEADS, -1).transpose(1, 2) for project in self.projections]
            mixed = functional.scaled_dot_product_attention(*heads).transpose(1, 2).reshape(batch, TOKENS, HIDDEN)
            x = self.norms[0](x + self.out(mixed))
            return self.norms[1](x + self.down(functional.gelu(self.up(x))))

    model = nn.Sequential(nn.LayerNorm(HIDDEN, eps=1e-12), *(Layer() for _ in range(LAYERS)))
    return model, {"input": torch.randn(batch, TOKENS, HIDDEN, dtype=torch.float16, device="cuda")}


NETWORKS = {"resnet50_shaped": vision("resnet50"), "resnet18_shaped": vision("resnet18"), "mobilenet_v2_shaped": vision("mobilenet_v2"),
            "bert_alike_384": bert}


def replays(torch, call, seconds):
    """Milliseconds of one run, of each of some rounds."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    rounds, runs, end = [], 10, time.monotonic() + seconds
    while time.monotonic() < end or len(rounds) < 3:
        begin, done = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(runs):
            graph.replay()
        done.record()
        done.synchronize()
        rounds.append(begin.elapsed_time(done) / runs)
    return rounds


def measure(torch, name, batch, mode, seconds):
    model, inputs = NETWORKS[name](torch, batch)
    model = model.half().cuda().eval()
    if mode == "compiled":
        model = torch.compile(model)
    with torch.inference_mode():
        rounds = replays(torch, lambda: model(**inputs), seconds)
    ms = statistics.median(rounds)
    return {"name": name, "batch": batch, "mode": mode, "ms": round(ms, 4), "images_per_s": round(batch / ms * 1e3, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", metavar="NAME:BATCH")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["eager"])
    parser.add_argument("--seconds", type=float, default=1)
    args = parser.parse_args()
    import torch

    torch.backends.cudnn.benchmark = True
    for mode in args.modes:
        for asked in args.networks:
            name, _, batch = asked.partition(":")
            if name not in NETWORKS:
                continue
            try:
                print(json.dumps(measure(torch, name, int(batch), mode, args.seconds)), flush=True)
            except Exception as error:  # of a library: the others are measured all the same
                print(f"{asked}, {mode}: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
