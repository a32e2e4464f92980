#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports small transformers with random weights as their users would, and shows which kernels of a GPU each reaches in INT8.

    bench/exporters.py --models FOLDER             # with PyTorch, transformers, timm and torchvision in this Python
    bench/exporters.py --models FOLDER --table     # with Octet: builds each, and prints what it reaches

Every network has two layers. The table has, for each network and way to export it, the attentions that are one kernel (of how many), in
parentheses those that take their projections along, and how many steps there are; from fewest to most over masks and sizes. --device cuda needs a GPU, or the emulated one of tests/gpu/emulator under OCTET_CUDA_DRIVER and OCTET_NVRTC.
tests/models/exporters_test.py holds the node patterns without PyTorch."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEADS, LAYERS, WIDE, LENGTH, IMAGE = 128, 2, 2, 512, 64, 64
TEXTS = ("bert", "minilm", "distilbert", "roberta")
EAGER_ONLY = ("detr", "swin")
SAMPLES = 16


def networks():
    """A function for each that makes it for an implementation of attention."""
    sys.path[:] = [path for path in sys.path if pathlib.Path(path or ".").resolve() != ROOT / "bench"]  # bench/transformers.py is none of these
    import timm
    import torch
    import torchvision
    import transformers as hf
    from transformers.models.detr.modeling_detr import DetrDecoder

    text = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=WIDE, vocab_size=500,
                max_position_embeddings=130)
    image = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=WIDE, image_size=IMAGE, patch_size=8)

    class First(torch.nn.Module):
        """Of what the network gives, the first tensor."""

        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, *args, **named):
            return self.network(*args, **named, return_dict=False)[0]

    class Texts(First):
        def forward(self, input_ids, attention_mask=None):
            return super().forward(input_ids=input_ids, attention_mask=attention_mask)

    class Images(First):
        def forward(self, pixel_values):
            return super().forward(pixel_values)

    class Sounds(First):
        def forward(self, input_features):
            return super().forward(input_features)

    class Queries(torch.nn.Module):
        def __init__(self, decoder):
            super().__init__()
            self.decoder, self.queries = decoder, torch.nn.Parameter(torch.zeros(16, WIDTH))

        def forward(self, memory, position):
            queries = self.queries.unsqueeze(0).repeat(memory.shape[0], 1, 1)
            return self.decoder(inputs_embeds=torch.zeros_like(queries), encoder_hidden_states=memory, object_queries=position,
                                query_position_embeddings=queries, return_dict=False)[0]

    def of(wrapper, kind, config, **named):
        return lambda attention: wrapper(kind._from_config(config, attn_implementation=attention, **named))

    def detr(attention):
        config = hf.DetrConfig(d_model=WIDTH, decoder_layers=LAYERS, decoder_attention_heads=HEADS, decoder_ffn_dim=WIDE, use_timm_backbone=False,
                               backbone_config=hf.ResNetConfig(), use_pretrained_backbone=False)
        config._attn_implementation = attention
        return Queries(DetrDecoder(config))

    def whisper(attention):
        config = hf.WhisperConfig(d_model=WIDTH, encoder_layers=LAYERS, encoder_attention_heads=HEADS, encoder_ffn_dim=WIDE, decoder_layers=1,
                                  decoder_attention_heads=HEADS, max_source_positions=64, vocab_size=100, pad_token_id=0, bos_token_id=1,
                                  eos_token_id=2, decoder_start_token_id=1)
        return Sounds(hf.WhisperModel._from_config(config, attn_implementation=attention).encoder)

    def timm_vit(attention):
        network = timm.models.VisionTransformer(img_size=IMAGE, patch_size=8, embed_dim=WIDTH, depth=LAYERS, num_heads=HEADS, num_classes=10)
        for block in network.blocks:
            block.attn.fused_attn = attention == "sdpa"
        return network

    small = dict(text, hidden_size=192, num_attention_heads=6)
    plain = dict(add_pooling_layer=False)
    return {
        "bert": of(Texts, hf.BertModel, hf.BertConfig(**text), **plain),
        "minilm": of(Texts, hf.BertModel, hf.BertConfig(**small), **plain),
        "distilbert": of(Texts, hf.DistilBertModel, hf.DistilBertConfig(dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=WIDE, vocab_size=500)),
        "roberta": of(Texts, hf.RobertaModel, hf.RobertaConfig(**text), **plain),
        "vit": of(Images, hf.ViTModel, hf.ViTConfig(**image), **plain),
        "deit": of(Images, hf.DeiTModel, hf.DeiTConfig(**image), **plain),
        "clip": of(Images, hf.CLIPVisionModel, hf.CLIPVisionConfig(**image)),
        "swin": of(Images, hf.SwinModel, hf.SwinConfig(embed_dim=64, depths=[2], num_heads=[2], window_size=4, image_size=IMAGE, patch_size=4), **plain),
        "whisper": whisper,
        "detr": detr,
        "timm-vit": timm_vit,
        "torchvision-vit": lambda attention: torchvision.models.VisionTransformer(
            image_size=IMAGE, patch_size=8, num_layers=LAYERS, num_heads=HEADS, hidden_dim=WIDTH, mlp_dim=WIDE, num_classes=10),
    }


def inputs(name, mask, batch):
    import torch

    random = torch.Generator().manual_seed(2)
    if name in TEXTS:
        feeds = {"input_ids": torch.randint(3, 500, (batch, LENGTH), generator=random)}
        if mask == "given":
            lengths = torch.randint(LENGTH // 2, LENGTH, (batch, 1), generator=random)
            feeds["attention_mask"] = (torch.arange(LENGTH)[None] < lengths).long()
        return feeds
    if name == "detr":
        return {key: torch.randn(batch, 48, WIDTH, generator=random) for key in ("memory", "position")}
    shape = (80, 128) if name == "whisper" else (3, IMAGE, IMAGE)
    return {"input_features" if name == "whisper" else "pixel_values" if "-" not in name else "x": torch.randn(batch, *shape, generator=random)}


def with_weights(network):
    import torch

    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if weight.dim() < 2:
                weight.normal_(1 if "weight" in name else 0, 0.1, generator=random)
            else:
                weight.normal_(0, 0.5 if "embed" in name else weight[0].numel()**-0.5, generator=random)
    return network.eval()


def export(make, name, case, target):
    import torch

    exporter, attention, mask, sizes = case
    network, feeds = with_weights(make(attention)), inputs(name, mask, 2)
    open_axes = {key: {0: "batch", **({1: "length"} if name in TEXTS else {})} for key in feeds} if sizes == "dynamic" else {}
    named = dict(input_names=list(feeds), output_names=["y"])
    if exporter == "torchscript":
        torch.onnx.export(network, tuple(feeds.values()), str(target), dynamic_axes=open_axes, opset_version=17, dynamo=False, **named)
    else:
        axes = {key: {axis: torch.export.Dim.DYNAMIC for axis in own} for key, own in open_axes.items()}
        torch.onnx.export(network, (), kwargs=feeds, f=str(target), dynamic_shapes=axes or None, opset_version=18, dynamo=True,
                          external_data=False, verbose=False, **named)


def cases(name):
    for exporter in ("torchscript", "dynamo"):
        for attention in ("eager",) if name in EAGER_ONLY else ("eager", "sdpa"):
            for mask in ("none", "given") if name in TEXTS else ("none",):
                for sizes in ("static", "dynamic"):
                    yield exporter, attention, mask, sizes


def make_all(args):
    import numpy

    args.models.mkdir(parents=True, exist_ok=True)
    for name, make in networks().items():
        for case in cases(name):
            target = args.models / f"{'.'.join((name, *case))}.onnx"
            if args.only not in target.name:
                continue
            try:
                export(make, name, case, target)
                numpy.savez(target.with_suffix(".npz"), **{key: value.numpy() for key, value in inputs(name, case[2], SAMPLES).items()})
            except Exception as error:  # of PyTorch: the others are exported all the same
                print(f"{target.stem}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)


def reached(args, model):
    """Attentions that are one kernel, those in pieces, those that take their projections along, and steps."""
    import numpy

    engine, samples = model.with_suffix(".octet"), model.with_suffix(".npz")
    octet = lambda *flags: subprocess.run([args.program, *map(str, flags)], capture_output=True, text=True, check=True).stdout
    octet("build", model, "--int8", "--calib", samples, "--calib-method", "minmax", "--precision", "*:int8", "-o", engine, "--force", "--quiet")
    shapes = []
    if ".dynamic" in model.name:
        for key, array in numpy.load(samples).items():
            shapes += ["--shape", f"{key}:{'x'.join(map(str, (8, *array.shape[1:])))}"]
    layers = json.loads(octet("inspect", engine, "--device", args.device, "--json", *shapes))["layers"]
    kernels = [layer["kernel"] for layer in layers if not layer["kernel"].startswith("copy_") and layer["kernel"] != "reshape"]
    whole = [kernel for kernel in kernels if kernel.startswith("attention_")]
    return len(whole), sum("softmax" in kernel for kernel in kernels), sum("_of_" in kernel for kernel in whole), len(kernels)


def cell(found):
    """Of one network and one way to export it, whatever its mask and sizes."""
    span = lambda values: str(min(values)) if min(values) == max(values) else f"{min(values)} to {max(values)}"
    whole, pieces, joined, steps = zip(*found)
    return f"{span(whole)} of {span([a + b for a, b in zip(whole, pieces)])} ({span(joined)}), {span(steps)} steps"


def table(args):
    ways = [("torchscript", "eager"), ("torchscript", "sdpa"), ("dynamo", "eager"), ("dynamo", "sdpa")]
    found = collections.defaultdict(list)
    for model in sorted(args.models.glob("*.onnx")):
        if args.only not in model.name:
            continue
        name, exporter, attention, *_ = model.stem.split(".")
        try:
            found[name, exporter, attention].append(reached(args, model))
        except subprocess.CalledProcessError as error:
            print(f"{model.stem}: {error.stderr.strip()}", file=sys.stderr)
    print(f"| network | {' | '.join(f'{exporter}, {attention}' for exporter, attention in ways)} |\n|---|{'---|' * len(ways)}")
    for name in dict.fromkeys(key[0] for key in found):
        print(f"| {name} | {' | '.join(cell(found[name, *way]) if (name, *way) in found else '' for way in ways)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--table", action="store_true", help="build and inspect what is in the folder")
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose name holds this")
    parser.add_argument("--program", default=str(ROOT / "build/release/octet"))
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    (table if args.table else make_all)(args)


if __name__ == "__main__":
    main()
