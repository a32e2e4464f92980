# SPDX-License-Identifier: Apache-2.0
"""Reads what octet trtexec writes by the rules of NVIDIA's engine explorer (TREX 10.15): which lines of a log belong to a section, which
keys a layer must have, how times join layers. What does not fit raises."""

import json
import re

INFO = re.compile(r"\[\d+/\d+/\d+-\d+:\d+:\d+\] \[I\] ")
FLOAT = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
NUMBERS = ("Throughput", "Total Host Walltime", "Total GPU Compute Time")
STATISTICS = ("Latency", "Enqueue Time", "H2D Latency", "GPU Compute Time", "D2H Latency")
DEVICE_NUMBERS = ("Compute Clock Rate", "Memory Bus Width", "Memory Clock Rate", "Compute Capability", "SMs")

# Texts that the explorer knows, dots apart; what it does not know has no size.
FORMATS = {
    "Row major linear FP32": 4, "Channel major FP32 format": 4, "Channel major FP32 format where channel % 4 == 0": 4,
    "Thirty-two wide channel vectorized row major FP32 format": 4,
    "Row major linear FP16 format": 2, "Channel major FP16 format": 2, "Channel major FP16 format where channel % 4 == 0": 2,
    "Channel major FP16 format where channel % 8 == 0": 2, "Channel major FP16 format where channel % 16 == 0": 2,
    "Thirty-two wide channel vectorized row major FP16 format": 2, "Row major linear BFloat16 format": 2,
    "Channel major BFloat16 format where channel % 4 == 0": 2, "Channel major BFloat16 format where channel % 8 == 0": 2,
    "Row major Int8 format": 1, "Channel major Int8 format": 1, "Channel major Int8 format where channel % 4 == 0": 1,
    "Channel major INT8 format where channel % 16 == 0": 1, "Thirty-two wide channel vectorized row major Int8 format": 1,
    "Row major linear Int32": 4, "Row major linear BOOL": 0, "Row major linear Int64 format": 8, "Row major linear UInt8 format": 1,
    "Channel major UInt8 format": 1, "Unknown format": 0}
CONSTANT_BYTES = {"Int8": 1, "Half": 2, "Float": 4, "Int32": 4}


def number(text):
    found = FLOAT.search(text)
    if found is None:
        raise ValueError(f"no number in {text!r}")
    return float(found.group())


def sections(log, titles):
    """Title -> {key: value}. A section begins at its title and ends at the first line that is no pair."""
    found, waiting, current = {}, list(titles), None
    for line in log.splitlines():
        if current is not None:
            prefix = INFO.search(line)
            pair = line[prefix.end():].strip() if prefix else ""
            if ":" in pair:
                key, value = pair.split(":")[:2]
                found[current][key] = value[1:]
                continue
            current = None
        entered = [title for title in waiting if title in line]
        if entered:
            current = entered[0]
            waiting.remove(current)
            found[current] = {}
    return found


def build_log(log):
    return sections(log, ["=== Model Options ===", "=== Build Options ===", "=== Device Information ==="])


def profiling_log(log):
    found = sections(log, ["=== Performance summary ===", "=== Inference Options ===", "=== Device Information ==="])
    summary = found["=== Performance summary ==="]
    for key in summary:
        if key in NUMBERS:
            summary[key] = number(summary[key])
        if key in STATISTICS:
            summary[key] = [number(pair.split("=")[1]) for pair in summary[key].split(",")]
    device = found["=== Device Information ==="]
    for key in device:
        if key in DEVICE_NUMBERS:
            device[key] = number(device[key])
    return found


def tensor_bytes(tensor):
    size = FORMATS[tensor["Format/Datatype"].replace(".", "")]
    for dim in tensor["Dimensions"]:
        size *= dim
    return size


class Plan:
    """Layers of one engine, joined with their times."""

    def __init__(self, graph, profile=None):
        data = json.loads(graph)
        layers, self.bindings = data["Layers"], data["Bindings"]
        if not isinstance(layers[0], dict):
            raise ValueError("layers have no details")
        names = [layer["Name"] for layer in layers]
        if len(set(names)) != len(names):
            raise ValueError("a name stands for two layers")
        self.layers = [layer for layer in layers if layer["LayerType"] not in ("Constant", "NoOp")]
        for layer in layers:
            self.check(layer)
        self.check_graph(layers)
        ignored = {layer["Name"] for layer in layers} - {layer["Name"] for layer in self.layers}
        self.times = self.read_times(profile, ignored) if profile else []

    @staticmethod
    def check(layer):
        kind = layer.get("ParameterType", layer["LayerType"])
        for tensor in layer["Inputs"] + layer["Outputs"]:
            tensor_bytes(tensor)
        for constant in ("Weights", "Bias"):
            if constant in layer:
                CONSTANT_BYTES[layer[constant]["Type"]] * layer[constant]["Count"]
        if kind == "Convolution":
            batch, channels, *_ = layer["Inputs"][0]["Dimensions"]
            _, maps, *rest = layer["Outputs"][0]["Dimensions"]
            if len(rest) == 2:
                rows, columns = layer["Kernel"]
                layer["macs"] = batch * maps * rest[0] * rest[1] * channels * rows * columns // layer["Groups"]

    def check_graph(self, layers):
        """What is read was written before, or is a binding; a NoOp has one input."""
        known = set(self.bindings)
        for layer in layers:
            for tensor in layer["Inputs"]:
                if tensor["Name"] not in known:
                    raise ValueError(f"{layer['Name']} reads {tensor['Name']}, which no layer writes")
            known |= {tensor["Name"] for tensor in layer["Outputs"]}
            if layer["LayerType"] == "NoOp" and len(layer["Inputs"]) != 1:
                raise ValueError(f"{layer['Name']}: a NoOp has one input")

    def read_times(self, profile, ignored):
        """Records of four or five members, without layers that do nothing: one for each layer, in their order."""
        records = [record for record in json.loads(profile) if len(record) in (4, 5) and record["name"] not in ignored]
        if [record["name"] for record in records] != [layer["Name"] for layer in self.layers]:
            raise ValueError("times and layers do not join")
        return records


def latencies(times):
    return [record["latencyMs"] for record in json.loads(times)]
