# SPDX-License-Identifier: Apache-2.0
"""What a user of TensorRT's Engine Explorer asks of one or two engines that it processed: trex_program.py FOLDER ENGINE [ENGINE] prints the facts of
the first as JSON. Every table, linter and drawing of it is made once."""

import json
import pathlib
import sys
import warnings

import trex
import trex.compare_engines
import trex.excel_summary
import trex.graphing

# "Partial profiling data": layers and times that do not match.
warnings.simplefilter("error", UserWarning)


def plan_of(engine):
    return trex.EnginePlan(f"{engine}.graph.json", f"{engine}.profile.json", f"{engine}.profile.metadata.json", f"{engine}.build.metadata.json")


def drawn(plan, folder):
    """The names that the drawing of layers and regions has."""
    dot = trex.graphing.to_dot(plan, trex.graphing.layer_type_formatter, display_regions=True, expand_layer_details=True)
    trex.graphing.render_dot(dot, str(folder / "graph"), "svg")
    trex.graphing.OnnxGraph(plan, display_forking_regions=True)
    return (folder / "graph.svg").stat().st_size


def facts(plan, folder):
    table = plan.df
    for kind in set(table["type"]):
        assert len(plan.get_layers_by_type(kind)) == (table["type"] == kind).sum(), kind
    tensors = [tensor for layer in plan.all_layers for tensor in layer.inputs + layer.outputs]
    convolutions = plan.get_layers_by_type("Convolution")
    inputs, outputs = plan.get_bindings()
    return {
        "layers": len(table),
        "kinds": {kind: int(count) for kind, count in table["type"].value_counts().items()},
        "precisions": {name: int(count) for name, count in table["precision"].value_counts().items()},
        "unknown": [tensor.name for tensor in tensors if tensor.format == "Unknown format" or tensor.data_size == 0],
        "open": [tensor.name for tensor in tensors if min(tensor.shape, default=1) < 1],
        "bindings": [[str(tensor) for tensor in tensors] for tensors in (inputs, outputs)],
        "macs": int(convolutions["attr.macs"].sum()),
        "tactics": sorted(set(convolutions["tactic"])),
        "weights": int(plan.total_weights_size),
        "time": float(plan.total_runtime),
        "throughput": plan.performance_summary["Throughput"],
        "percent": float(table["latency.pct_time"].sum()),
        "builder": plan.builder_cfg["Precision"],
        "lint": {linter.__name__: len(linter(plan).lint()) for linter in (trex.ConvLinter, trex.ReformatLinter, trex.SliceLinter, trex.QDQLinter)},
        "drawn": drawn(plan, folder),
    }


def main(folder, engine, *other):
    folder = pathlib.Path(folder)
    plan = plan_of(engine)
    found = facts(plan, folder)
    warnings.simplefilter("ignore")
    with trex.excel_summary.ExcelSummary(plan, str(folder / "summary.xlsx")) as excel:
        excel.add_dataframes({"Layers": trex.clean_for_display(plan.df)})
    found["sheet"] = (folder / "summary.xlsx").stat().st_size
    if other:
        pairs = trex.compare_engines.match_layers(plan, plan_of(other[0]), exact_matching=False)
        found["matched"] = sum(None not in pair for pair in pairs)
    print("facts", json.dumps(found))


main(*sys.argv[1:])
