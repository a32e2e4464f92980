# SPDX-License-Identifier: Apache-2.0
"""The report of bench/cpu.py as Markdown tables, as they go into docs/performance.md.

    table.py REPORT.json        prints the tables of a report that was written with --json or --save
"""

import argparse
import collections
import json

from prepare import OCTET_BEFORE, OCTET_QDQ, PEERS, RUNNERS

TITLES = {"octet_qdq": "Octet Q/DQ", "octet_before": "Octet before", "onnxruntime_qdq": "ONNX Runtime Q/DQ", "openvino_qdq": "OpenVINO Q/DQ", "ncnn_int8": "ncnn INT8",
          "octet_int8": "Octet INT8", "octet_fp32": "Octet FP32", "onnxruntime_fp32": "ONNX Runtime FP32"}
KERNELS_SHOWN = 4


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def time_cell(row, key):
    if key not in row["median_ms"]:
        return "failed" if key in row["failed"] else "-"
    low, high = row["spread_ms"][key]
    return f"{row['median_ms'][key]:.2f} ({low:.2f}-{high:.2f})"


def print_times(report, keys):
    head = ["network", "threads", "batch", *(TITLES[key] for key in keys), "best peer / Octet", "of fastest runs",
            "of processor time"]
    print_table(head, [[row["name"], row["threads"], row["batch"], *(time_cell(row, key) for key in keys),
                        row["ratio_to_best"] or "-", row["ratio_of_fastest"] or "-", row.get("ratio_of_processor") or "-"]
                       for row in report["networks"]])
    print(f"\nGeometric mean of best peer / Octet: {report['geomean_ratio_to_best']}, "
          f"of the fastest runs: {report['geomean_ratio_of_fastest']}, "
          f"of processor time: {report.get('geomean_ratio_of_processor', '-')}")
    for part in report["geomeans"]:
        print(f"* {part['threads']} threads, batch {part['batch']}: {part['ratio_to_best']}")
    if report.get("geomean_to_before"):
        print_before(report)
    print()


def print_before(report):
    """The older program's time over the new one's: above 1 the new one is faster."""
    print()
    print_table(["network", "threads", "batch", "before / now", "of fastest runs"],
                [[row["name"], row["threads"], row["batch"], row["ratio_to_before"] or "-",
                  row["ratio_of_fastest_to_before"] or "-"] for row in report["networks"]])
    print(f"\nGeometric mean of before / now: {report['geomean_to_before']}, "
          f"of the fastest runs: {report['geomean_of_fastest_to_before']}")


def print_resources(report, keys):
    """Memory and time to the first result, of the first case of each network."""
    print("Peak memory (MiB) and time from the model file to the first result (ms); seconds to build Octet's engine from "
          "the Q/DQ model\n")
    first = {}
    for row in report["networks"]:
        first.setdefault((row["name"], row["batch"]), row)
    head = ["network", "batch", *(TITLES[key] + ", MiB" for key in keys), *(TITLES[key] + ", ms" for key in keys),
            "Octet's load + plan, ms", "build, s"]
    rows = []
    for (name, batch), row in first.items():
        start = row["octet_start_ms"]
        ready = f"{start['load']:.1f} + {start['prepare']:.1f}" if start else "-"
        rows.append([name, batch, *(row["memory_mib"].get(key, "-") for key in keys),
                     *(row["first_result_ms"].get(key, "-") for key in keys), ready,
                     row["build_s"].get(OCTET_QDQ, "-")])
    print_table(head, rows)
    print()


def print_layers(report):
    rows = []
    for row in report["networks"]:
        times = row.get("layers")
        if not times or "error" in times:
            continue
        kernels = collections.defaultdict(lambda: [0.0, 0.0, 0])
        for layer in times["layers"]:
            entry = kernels[layer["kernel"]]
            entry[0] += layer["microseconds"]
            entry[1] += layer["floor_us"]
            entry[2] += 1
        top = sorted(kernels.items(), key=lambda item: -item[1][0])[:KERNELS_SHOWN]
        where = ", ".join(f"{name} {us:.0f} / {floor:.0f} ({count})" for name, (us, floor, count) in top)
        over = times["sum_us"] / times["floor_us"] if times["floor_us"] else 0
        rows.append([row["name"], row["threads"], row["batch"], round(times["sum_us"]), round(times["floor_us"]),
                     f"{over:.1f}", where])
    if rows:
        print_table(["network", "threads", "batch", "sum of layers, us", "floor, us", "x floor",
                     "where the time goes: kernel, us / floor (layers)"], rows)
        print()


def print_reasons(report):
    seen = {}
    for row in report["networks"]:
        for key, reason in row["failed"].items():
            seen.setdefault((row["name"], key, reason), []).append(f"{row['threads']}x{row['batch']}")
    for (name, key, reason), cases in seen.items():
        print(f"* {name}, {key} (threads x batch: {', '.join(cases)}): {reason}")
    for case in report.get("not_measured", []):
        print(f"* not measured, no time left: {case}")


def print_all(report):
    keys = [key for key in RUNNERS if any(key in row["median_ms"] or key in row["failed"]
                                          for row in report["networks"])]
    print_times(report, keys)
    print_resources(report, [key for key in keys if key in (OCTET_QDQ, OCTET_BEFORE, *PEERS)])
    print_layers(report)
    if "build" in report:
        build = report["build"]
        print(f"Build of {build['network']} with {build['images']} images, {build['threads']} threads: "
              f"{build['seconds']} s, {build['processor_seconds']} s of processor time\n")
    print_reasons(report)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", help="what cpu.py --save wrote")
    with open(parser.parse_args().report, encoding="utf-8") as file:
        print_all(json.load(file))
