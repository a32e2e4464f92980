#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the networks of bench/kinds.py to find shapes that are painted over photos; bench/accuracy.py --work FOLDER measures them.

    bench/train_kinds.py --out FOLDER [--seconds 30] [--device cuda] [--networks NAME,...]     # needs ../shared; pip install torch numpy onnxruntime pillow

Weights are FOLDER/NAME.npz. Half a minute of a GPU for each is enough to compare INT8 with FP32; no two runs give the same weights."""

import argparse
import math
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/models")]

import accuracy_cases  # noqa: E402
import kinds  # noqa: E402
from harness import need  # noqa: E402

np, torch = need("numpy", "torch")
F = torch.nn.functional
PHOTO_SIDE = 144
LEARNING_RATE, WARMUP_STEPS, GRADIENT = 2.5e-3, 100, 5.0


class Module(torch.nn.Module):
    """A network's nodes, in PyTorch."""

    def __init__(self, network, device):
        super().__init__()
        self.network = network
        for name, array in network.weights.items():
            tensor = torch.from_numpy(np.ascontiguousarray(array)).to(device)
            if name.startswith("trained"):
                self.register_parameter(name, torch.nn.Parameter(tensor))
            elif name.startswith("statistic"):
                self.register_buffer(name, tensor)

    def forward(self, x):
        values = {"input": x}
        for node in self.network.nodes:
            inputs = [values[name] if name in values else getattr(self, name, None) for name in node["in"]]
            results = self.result_of(node, inputs)
            values.update(zip(node["out"], results if len(node["out"]) > 1 else [results]))
        return [values[name] for name in self.network.raw]

    def result_of(self, node, inputs):
        x, attributes = inputs[0], node["attr"]
        constant = lambda i: [int(number) for number in self.network.weights[node["in"][i]]]
        match node["op"]:
            case "Conv":
                bias = inputs[2] if len(inputs) > 2 else None
                return F.conv2d(x, inputs[1], bias, attributes["strides"], attributes["pads"][:2], 1, attributes["group"])
            case "BatchNormalization":
                scale, shift, mean, variance = inputs[1:]
                return F.batch_norm(x, mean, variance, scale, shift, self.training, 0.03, attributes["epsilon"])
            case "InstanceNormalization":
                return F.instance_norm(x, weight=inputs[1], bias=inputs[2], eps=attributes["epsilon"])
            case "Relu":
                return F.relu(x)
            case "LeakyRelu":
                return F.leaky_relu(x, attributes["alpha"])
            case "Sigmoid":
                return torch.sigmoid(x)
            case "Softmax":
                return torch.softmax(x, attributes["axis"])
            case "Add":
                return x + inputs[1]
            case "Concat":
                return torch.cat(inputs, attributes["axis"])
            case "MaxPool":
                return F.max_pool2d(x, 3, 2, 1)
            case "AveragePool":
                return F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
            case "GlobalAveragePool":
                return x.mean((2, 3), keepdim=True)
            case "Resize":
                return F.interpolate(x, scale_factor=2, mode="nearest")
            case "Transpose":
                return x.permute(attributes["perm"])
            case "Reshape":
                return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(constant(1))])
            case "Split":
                parts = constant(1) if len(inputs) > 1 else x.shape[attributes["axis"]] // 2
                return torch.split(x, parts, attributes["axis"])
        raise ValueError(node["op"])


class Pictures:
    """Batches of kinds.picture()'s sort, made on the device."""

    def __init__(self, device):
        photos = [photo for folder in ("imagenet/calib", "coco/calib") for photo in accuracy_cases.photos(folder)]
        arrays = [accuracy_cases.resized(photo, PHOTO_SIDE, PHOTO_SIDE).transpose(2, 0, 1) for photo in photos]
        self.photos = torch.from_numpy(np.ascontiguousarray(arrays)).to(device)
        self.device = device

    def uniform(self, *shape):
        return torch.rand(*shape, device=self.device)

    def views(self, count, size):
        """A random part of random photos, turned a little; and of others for the shapes."""
        index = torch.randint(0, len(self.photos), (count,), device=self.device)
        zoom, angle = 0.4 + 0.6 * self.uniform(count), (self.uniform(count) - 0.5) * 0.5
        flip = torch.where(self.uniform(count) < 0.5, -1.0, 1.0)
        turn = torch.zeros(count, 2, 3, device=self.device)
        turn[:, 0, 0], turn[:, 0, 1] = zoom * torch.cos(angle) * flip, -zoom * torch.sin(angle)
        turn[:, 1, 0], turn[:, 1, 1] = zoom * torch.sin(angle) * flip, zoom * torch.cos(angle)
        turn[:, :, 2] = (self.uniform(count, 2) - 0.5) * 2 * (1 - zoom)[:, None]
        grid = F.affine_grid(turn, (count, 3, size, size), align_corners=False)
        look = lambda at: F.grid_sample(self.photos[at].float(), grid, align_corners=False, padding_mode="reflection")
        return look(index), look(index.roll(1)).flip(3)

    def batch(self, count, size):
        image, other = self.views(count, size)
        single = size < kinds.LEAST_SIDE
        most = 1 if single else kinds.MOST_SHAPES
        number = torch.randint(1, most + 1, (count,), device=self.device)
        boxes = torch.zeros(count, most, 4, device=self.device)
        labels = torch.full((count, most), -1, device=self.device)
        for k in range(most):
            kind = torch.randint(0, kinds.CLASSES, (count,), device=self.device)
            mask = self.shape(kind, size, single) & (k < number)[:, None, None]
            boxes[:, k] = torch.stack([*edges(mask.any(1), size), *edges(mask.any(2), size)], 1)[:, [0, 2, 1, 3]]
            labels[:, k] = torch.where(mask.any(2).any(1), kind, -1)
            color, blend = self.uniform(count, 3, 1, 1) * 255, 0.5 + 0.5 * self.uniform(count, 1, 1, 1)
            image = kinds.place(torch, image, mask[:, None], color, other, blend)
        image = (image + torch.randn_like(image) * 6 * self.uniform(count, 1, 1, 1)).clamp(0, 255)
        return (image - 127.5) / 128, boxes, labels

    def shape(self, kind, size, single):
        count = len(kind)
        y, x = torch.meshgrid(*[torch.arange(size, device=self.device) + 0.5] * 2, indexing="ij")
        half = size * (0.2 + 0.25 * self.uniform(count)) if single else 8 * torch.exp(self.uniform(count) * math.log(10))
        left, top = (size * (0.5 + (self.uniform(count) - 0.5) * (0.3 if single else 0.95)) for _ in range(2))
        turn = (self.uniform(count) - 0.5) * 0.9
        wide = lambda numbers: numbers[:, None, None]
        dx, dy = (x[None] - wide(left)) / wide(half), (y[None] - wide(top)) / wide(half)
        c, s = wide(torch.cos(turn)), wide(torch.sin(turn))
        return kinds.shapes(torch, wide(kind), dx * c + dy * s, dy * c - dx * s)


def edges(filled, size):
    """The first of a row's filled places, and the one behind the last."""
    return filled.float().argmax(1).float(), size - filled.flip(1).float().argmax(1).float()


class Cells:
    """The places where a detector may find something, and what it is to find there."""

    def __init__(self, network, device):
        self.levels = (16,) if isinstance(network, kinds.FastestDetLike) else kinds.LEVELS
        repeat = 2 if isinstance(network, kinds.ScrfdLike) else 1
        points, strides = [], []
        for stride in self.levels:
            side = torch.arange(network.size // stride, device=device)
            y, x = torch.meshgrid(side, side, indexing="ij")
            points.append(((torch.stack([x, y], -1).reshape(-1, 2) + 0.5) * stride).repeat_interleave(repeat, 0))
            strides.append(torch.full((len(points[-1]),), float(stride), device=device))
        self.points, self.strides = torch.cat(points), torch.cat(strides)

    def boxes_of(self, boxes, labels):
        """Of each cell the smallest of its boxes, or -1."""
        side = (boxes[..., 2:] - boxes[..., :2]).amax(-1)
        centers = (boxes[..., :2] + boxes[..., 2:]) / 2
        near = (self.points[None, None] - centers[:, :, None]).abs().amax(-1) < 1.2 * self.strides
        if len(self.levels) > 1:
            level = torch.where(side < 40, 8.0, torch.where(side < 88, 16.0, 32.0))
            near &= level[..., None] == self.strides
        near &= (labels >= 0)[..., None]
        cost = torch.where(near, side[..., None].expand_as(near), torch.full((), 1e9, device=side.device))
        least, which = cost.min(1)
        return torch.where(least < 1e8, which, -1)


def overlap(a, b):
    """Generalized IoU."""
    area = lambda boxes: (boxes[:, 2:] - boxes[:, :2]).clamp(min=0).prod(1)
    shared = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0).prod(1)
    union = area(a) + area(b) - shared + 1e-6
    hull = (torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])).prod(1) + 1e-6
    return shared / union - (hull - union) / hull


def focal(logits, target):
    chance = torch.sigmoid(logits)
    entropy = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return (entropy * torch.where(target > 0, 0.35 * (1 - chance) ** 2, 0.65 * chance**2)).sum()


def distances_of(raw, wanted):
    """NanoDet's distributions over distances as distances, and what they lose."""
    bins = kinds.NanoDetLike.BINS + 1
    rows = raw.reshape(-1, 4, bins)
    found = (torch.softmax(rows, -1) * torch.arange(bins, device=raw.device)).sum(-1)
    wanted = wanted.clamp(0, bins - 1.01)
    low = wanted.long()
    entropy = lambda at: F.cross_entropy(rows.reshape(-1, bins), at.reshape(-1), reduction="none").reshape(at.shape)
    return found, (entropy(low) * (low + 1 - wanted) + entropy(low + 1) * (wanted - low)).mean() * 0.25


def loss_of(network, raw, truth, cells):
    boxes, labels = truth
    if cells is None:
        return F.cross_entropy(raw[0], labels[:, 0].clamp(min=0))
    which = cells.boxes_of(boxes, labels)
    image, cell = (which >= 0).nonzero(as_tuple=True)
    wanted, label, count = boxes[image, which[image, cell]], labels[image, which[image, cell]], max(len(image), 1)
    points, strides = cells.points[cell], cells.strides[cell][:, None]
    extra = 0
    if isinstance(network, kinds.FastestDetLike):
        objects, sizes, classes = raw
        scores, target = objects[..., 0], torch.zeros_like(objects[..., 0])
        target[image, cell] = 1
        extra = F.cross_entropy(classes[image, cell], label) * 0.5
        centers = points + torch.tanh(sizes[image, cell][:, :2]) * strides
        half = torch.sigmoid(sizes[image, cell][:, 2:]) * network.size / 2
        found = torch.cat([centers - half, centers + half], 1)
    else:
        scores, sizes = raw if len(raw) == 2 else (torch.cat(raw[:3], 1), torch.cat(raw[3:], 1))
        target = torch.zeros_like(scores)
        target[image, cell, label] = 1
        distances = sizes[image, cell]
        if isinstance(network, kinds.NanoDetLike):
            distances, extra = distances_of(distances, torch.cat([points - wanted[:, :2], wanted[:, 2:] - points], 1) / strides)
        found = torch.cat([points - distances[:, :2] * strides, points + distances[:, 2:] * strides], 1)
    return focal(scores, target) / count * 2 + extra + (1 - overlap(found, wanted)).mean() * 2


def train(name, pictures, seconds):
    network = kinds.NETWORKS[name]()
    module = Module(network, pictures.device).train()
    cells = Cells(network, pictures.device) if name in kinds.DECODERS else None
    optimizer = torch.optim.AdamW(module.parameters(), weight_decay=0.01)
    begin, steps, loss = time.monotonic(), 0, None
    while (passed := (time.monotonic() - begin) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1, steps / WARMUP_STEPS) * 0.5 * (1 + math.cos(math.pi * passed)) + 1e-6
        image, *truth = pictures.batch(64 if cells else 128, network.size)
        loss = loss_of(network, module(image), truth, cells)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), GRADIENT)
        optimizer.step()
        steps += 1
    print(f"{name}: {steps} steps, loss {loss.item():.3f}", flush=True)
    return {key: value.detach().cpu().numpy() for key, value in module.state_dict().items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=30, help="for each network")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--networks", default=",".join(kinds.NETWORKS))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    pictures = Pictures(chosen.device)
    for name in chosen.networks.split(","):
        np.savez(chosen.out / f"{name}.npz", **train(name, pictures, chosen.seconds))


if __name__ == "__main__":
    main()
